"""Content of files that is read again when they change."""

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from export.artifact.checksums import NotReadableError, read_regular

_logger = logging.getLogger(__name__)

MAX_BYTES = 2**20  # largest file, which is read between two requests

Content = TypeVar("Content")


class UnusableError(ValueError):
    """Error of a certificate, key or token that cannot be used."""


class Watched(Generic[Content]):
    """Content of files. If they become unreadable, that is logged, and the last content stays in use.

    Args:
        paths: The files.
        read: Reads the files; raises UnusableError.

    Raises:
        UnusableError: If the files cannot be used at first.
    """

    def __init__(self, paths: Sequence[Path], read: Callable[[], Content]) -> None:
        self._paths, self._read = paths, read
        self._lock = threading.Lock()
        self._marks_read = self._marks()  # before reading, so that a change during it is noticed
        self._content = read()

    def now(self) -> Content:
        """Return the current content, reading it again only if it changed. Any thread may call this."""
        with self._lock:
            if (marks := self._marks()) != self._marks_read:
                self._marks_read = marks
                try:
                    self._content = self._read()
                    _logger.info("%s: read again", self._names())
                except UnusableError as error:
                    _logger.error("%s: the former content stays in use: %s", self._names(), error)
            return self._content

    def _marks(self) -> list[tuple[int, ...] | None]:
        return [_mark(path) for path in self._paths]

    def _names(self) -> str:
        return ", ".join(map(str, self._paths))


def read_bytes(path: Path) -> bytes:
    """Return the content of a regular file of at most MAX_BYTES, without waiting for a pipe.

    Raises:
        UnusableError: If it cannot be read, is not a regular file, or is larger.
    """
    try:
        return read_regular(path, MAX_BYTES)
    except NotReadableError as error:
        raise UnusableError(f"{path} cannot be used: {error}; name another file") from error
    except OSError as error:
        raise UnusableError(f"{path} cannot be read ({error.strerror}); name a readable file") from error


def _mark(path: Path) -> tuple[int, ...] | None:
    """Return a value that changes when a file is written or replaced, or a link leads to another file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
