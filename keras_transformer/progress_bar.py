"""Progress of long work on stderr: a bar on a terminal, a line from time to time in a log."""

import math
import sys
import threading
import time
from typing import Any

from tqdm import tqdm

LOG_EVERY = 30.0  # seconds between two lines of a log

tqdm.set_lock(threading.RLock())  # the default also locks between processes, which needs a semaphore
tqdm.monitor_interval = 0  # no thread that searches for stalled bars


class LogLines(tqdm):  # type: ignore[type-arg]
    """Progress bar for output that is not a terminal: it prints a new line every so many seconds."""

    def __init__(self, seconds: float, **options: Any) -> None:
        self._seconds = seconds
        self._due = time.monotonic() + seconds
        super().__init__(**options)

    def display(self, msg: str | None = None, pos: int | None = None) -> None:
        """Write the line if it is due."""
        if msg is None and time.monotonic() >= self._due:
            self._due = time.monotonic() + self._seconds
            print(self, file=self.fp, flush=True)

    def clear(self, nolock: bool = False) -> None:
        """Keep the lines that are printed."""


def progress_bar(before: str, after: str, hidden: bool = False, **options: Any) -> Any:
    """Return a tqdm bar on stderr that follows the width of the terminal, and disappears when it is closed.

    Args:
        before: Text before the bar, with fields as in tqdm's `bar_format`.
        after: Text after the bar.
        hidden: Whether to measure the time without printing anything.
        **options: Other options of tqdm.
    """
    options |= {"file": sys.stderr, "leave": False, "dynamic_ncols": True, "miniters": 0}
    if sys.stderr.isatty() and not hidden:
        return tqdm(bar_format=f"{before}|{{bar:20}}| {after}", **options)
    return LogLines(math.inf if hidden else LOG_EVERY, bar_format=before + after, **options)
