"""What files say, read again when they change."""

import logging
import os
import stat
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

_logger = logging.getLogger(__name__)

MAX_BYTES = 2**20  # of a file: it is read between two requests

Content = TypeVar("Content")


class UnusableError(ValueError):
    """A certificate, a key or a token that cannot be used; the message says why, and what could be."""


class Watched(Generic[Content]):
    """At first what cannot be read is an error; later it is logged, and what was there before stays."""

    def __init__(self, paths: Sequence[Path], read: Callable[[], Content]) -> None:
        """`read` raises UnusableError."""
        self._paths, self._read = paths, read
        self._lock = threading.Lock()
        self._seen = self._marks()  # before they are read: what changes meanwhile is read again
        self._content = read()

    def now(self) -> Content:
        """A look at each file, and seldom more. From any thread."""
        with self._lock:
            if (marks := self._marks()) != self._seen:
                self._seen = marks
                try:
                    self._content = self._read()
                    _logger.info("%s: read again", self._names())
                except UnusableError as error:
                    _logger.error("%s: what was there before stays: %s", self._names(), error)
            return self._content

    def _marks(self) -> list[tuple[int, ...] | None]:
        return [_mark(path) for path in self._paths]

    def _names(self) -> str:
        return ", ".join(map(str, self._paths))


def read_bytes(path: Path) -> bytes:
    """Return the content of a regular file of at most MAX_BYTES, without waiting for a pipe."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UnusableError(f"{path} is not a regular file: name one that is")
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UnusableError(f"{path} cannot be read ({error.strerror}): name a file that can") from error
    if len(content) > MAX_BYTES:
        raise UnusableError(f"{path} has more than {MAX_BYTES:,} bytes: name a smaller file")
    return content


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _mark(path: Path) -> tuple[int, ...] | None:
    """What changes with the file, whether it is written, replaced, or a link to another one."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
