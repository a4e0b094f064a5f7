"""Scheduling priorities of threads that share a core."""

import os
import sys
import threading

LOWEST = 19


def give_way(by: int) -> None:
    """Raise the nice value of the current thread, on systems where threads have their own.

    Args:
        by: The increment.
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, min(LOWEST, os.getpriority(os.PRIO_PROCESS, thread) + by))
