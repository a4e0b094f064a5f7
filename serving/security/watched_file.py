"""Content of files, read again when they change."""

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from export.artifact.checksums import NotReadableError, read_regular

_logger = logging.getLogger(__name__)

MAX_BYTES = 2**20  # of a file, since it is read between two requests

Content = TypeVar("Content")


class UnusableError(ValueError):
    """A certificate, key or token cannot be used."""


class Watched(Generic[Content]):
    """The content of files. If they become unreadable later, that is logged, and the content stays.

    Args:
        paths: The files.
        read: Reads them; raises UnusableError.

    Raises:
        UnusableError: The files cannot be used at first.
    """

    def __init__(self, paths: Sequence[Path], read: Callable[[], Content]) -> None:
        self._paths, self._read = paths, read
        self._lock = threading.Lock()
        self._marks_read = self._marks()  # before they are read: what changes meanwhile is read again
        self._content = read()

    def now(self) -> Content:
        """Return the current content. May be called from any thread; it is read again only if it changed."""
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
    """Return the content of a regular file of at most MAX_BYTES, without waiting for a pipe."""
    try:
        return read_regular(path, MAX_BYTES)
    except NotReadableError as error:
        raise UnusableError(f"{path} cannot be used: {error}; name another file") from error
    except OSError as error:
        raise UnusableError(f"{path} cannot be read ({error.strerror}); name a file that can") from error


def _mark(path: Path) -> tuple[int, ...] | None:
    """Return what changes when a file is written or replaced, or a link leads to another one."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
