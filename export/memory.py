"""Memory that an export has used and does not need any more."""

import ctypes
import gc


def give_back() -> None:
    """To the system: TensorFlow's graphs refer to themselves, and glibc keeps for later what is freed."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
