"""Who of a process' threads goes first, where they do not have a core each."""

import os
import sys
import threading

LOWEST = 19


def give_way(by: int) -> None:
    """This thread is nicer by so much from now on, where threads have a nice value of their own."""
    if sys.platform == "linux":
        own = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, own, min(LOWEST, os.getpriority(os.PRIO_PROCESS, own) + by))
