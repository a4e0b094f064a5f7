"""What files say, read again when they change."""

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

_logger = logging.getLogger(__name__)

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
    """All of it."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnusableError(f"{path} cannot be read ({error.strerror}): name a file that can") from error


def _mark(path: Path) -> tuple[int, ...] | None:
    """What changes with the file, whether it is written, replaced, or a link to another one."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
