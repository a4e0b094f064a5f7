"""How many processor cores there are to work with."""

import os


def usable_cores() -> int:
    """As many as this process may use; OMP_NUM_THREADS says fewer, as to other libraries of numbers."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    if said.isdecimal() and int(said):
        return int(said)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
