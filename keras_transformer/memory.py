"""Release of memory that is not needed any more."""

import ctypes


def give_back() -> None:
    """Return freed memory to the system, which glibc would keep. Does nothing with other C libraries."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
