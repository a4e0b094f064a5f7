"""Progress of a long piece of work on stderr: a bar in a terminal, a line now and then in a log."""

import math
import sys
import threading
import time
from typing import Any

from tqdm import tqdm

LOG_EVERY = 30.0  # seconds between two lines of a log

tqdm.set_lock(threading.RLock())  # by default a lock between processes as well, which takes a semaphore
tqdm.monitor_interval = 0  # no thread that looks for bars that stand still


class LogLines(tqdm):  # type: ignore[type-arg]
    """A bar whose output is no terminal: instead of a line that moves, a new line every so many seconds."""

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
        """Leave the lines that are written."""


def progress_bar(before: str, after: str, hidden: bool = False, **options: Any) -> Any:
    """Return a tqdm bar on stderr that follows the width of the terminal, and goes when it is closed.

    Args:
        before: What is written before the bar; fields as in tqdm's `bar_format`.
        after: What is written after it.
        hidden: Measure the time, and write nothing.
        **options: Other options of tqdm.
    """
    options |= {"file": sys.stderr, "leave": False, "dynamic_ncols": True, "miniters": 0}
    if sys.stderr.isatty() and not hidden:
        return tqdm(bar_format=f"{before}|{{bar:20}}| {after}", **options)
    return LogLines(math.inf if hidden else LOG_EVERY, bar_format=before + after, **options)
