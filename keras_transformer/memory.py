"""Release of memory that is not needed any more, and how much a process has used."""

import ctypes
import time
from pathlib import Path


def give_back() -> None:
    """Return freed memory to the system, which glibc would keep. Does nothing with other C libraries."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def peak_memory() -> int:
    """Return the largest resident size of this process so far in bytes; 0 where the system does not tell.

    That of getrusage begins with the size of the process that has started this one.
    """
    status = Path("/proc/self/status")
    _, _, found = status.read_text().partition("VmHWM:") if status.exists() else ("", "", "")
    return int(found.split()[0]) * 1024 if found else 0


def spent(began: float) -> str:
    """Return the time since `began` and the highest memory so far, as "5.2 s and 1.8 GB of memory".

    Args:
        began: Value of time.monotonic() at the beginning.
    """
    seconds, megabytes = f"{time.monotonic() - began:.1f} s", peak_memory() / 1e6
    if not megabytes:
        return seconds
    size = f"{megabytes / 1e3:.1f} GB" if megabytes >= 1e3 else f"{megabytes:.0f} MB"
    return f"{seconds} and {size} of memory"
