"""The number of threads to compute with."""

import os

#: Environment of a process with one thread in each library that chooses the number itself.
ONE_CORE = {"OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}


def usable_cores() -> int:
    """Return the number of threads to compute with.

    It is OMP_NUM_THREADS if that is set to a positive number, as in other numerical libraries, even if there
    are fewer cores. Otherwise it is the number of cores that this process may use.
    """
    chosen = os.environ.get("OMP_NUM_THREADS", "")
    if chosen.isdecimal() and int(chosen):
        return int(chosen)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
