"""Memory that was used and is not needed any more."""

import ctypes


def give_back() -> None:
    """To the system: glibc keeps for later what is freed. Other C libraries do not know the word."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
