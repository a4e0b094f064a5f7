"""Atomic writing of files: write beside the target, sync, rename."""

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

PROBE_BYTES = 4096
SAMPLE_BYTES, SAMPLES = 2**16, 2**12  # of a file that is compared: up to 256 MiB whole
PARTIAL = ".partial-"  # begins a temporary name
NAME_BYTES = 200  # of a name that are part of a temporary name; file systems allow 255 in all


def read_json(content: bytes | str) -> Any:
    """Parse JSON.

    Raises:
        ValueError: If it is not JSON, or is nested more deeply than Python can parse.
    """
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; for json's object_pairs_hook.

    Raises:
        ValueError: A key is in it twice.
    """
    values = dict(pairs)
    if len(values) < len(pairs):
        twice = min(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {json.dumps(twice)[:60]} is duplicate")
    return values


def digest(path: Path, pattern: str = "*") -> str:
    """Return a short digest of a file, or of the files below a directory with their names.

    Of a large file it covers the size and samples: a corpus may have many gigabytes.

    Args:
        path: The file or directory.
        pattern: What the names of the files match.
    """
    found = sha256()
    for file in [path] if path.is_file() else sorted(filter(Path.is_file, path.rglob(pattern))):
        size = file.stat().st_size
        found.update(f"{file.relative_to(path.parent)} {size}\n".encode())
        with file.open("rb") as content:
            for offset in range(0, size, max(SAMPLE_BYTES, size // SAMPLES)):
                content.seek(offset)
                found.update(content.read(SAMPLE_BYTES))
    return found.hexdigest()[:16]


def check_writable(path: Path) -> None:
    """Write and remove a probe beside `path`, before work is done for a file or directory of this name.

    Raises:
        OSError: If it cannot be written: the directory is read-only, the disk full, or the name impossible.
    """
    if path.exists() and not path.is_file():  # a pipe or a device
        return
    folder = path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    with _named(path, folder), tempfile.TemporaryFile(dir=folder) as probe:
        probe.write(bytes(PROBE_BYTES))
        probe.flush()
        os.fsync(probe.fileno())


def _shortened(name: str) -> str:
    return os.fsdecode(os.fsencode(name)[:NAME_BYTES])


@contextmanager
def replacing(path: Path, writer: str = "") -> Iterator[Path]:
    """Yield a temporary path that replaces `path` at the end of the context; on an error it is removed.

    A reader sees the old file or the new one, also after the process was killed. A pipe or a device is
    written directly.

    Args:
        path: The file.
        writer: Part of the temporary name, where several processes may write the same file.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    beside = path.with_name(f"{PARTIAL}{writer}{_shortened(path.name)}")
    with _named(path, beside):
        try:
            yield beside
            _sync(beside)
            beside.replace(path)
            _sync(path.parent)  # its new name
        finally:
            beside.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    write_pieces(path, [content])


def write_pieces(path: Path, pieces: Iterable[bytes]) -> None:
    """Write pieces to a file one by one, atomically."""
    with replacing(path) as temp_path, temp_path.open("wb") as file:
        file.writelines(pieces)


class Synced:
    """New file that is written piece by piece and synced at its end; its errors name the file.

    The file is visible while it is incomplete: another file, which is written after it, has to mark it as
    complete.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Self:
        self._file = self.path.open("wb")
        return self

    def write(self, content: bytes) -> None:
        """Append bytes."""
        with _named(self.path):
            self._file.write(content)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with _named(self.path), self._file:
            if kind is None:
                self._file.flush()
                os.fsync(self._file.fileno())


@contextmanager
def _named(path: Path, beside: Path | None = None) -> Iterator[None]:
    """Name `path` in an OSError: Python names no file, or the temporary one.

    `beside` is the begin of the temporary path; an error of any other file is not changed.
    """
    try:
        yield
    except OSError as error:
        begin = str((beside or path).absolute())
        if error.errno is None or not str(Path(error.filename or begin).absolute()).startswith(begin):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def check_new(directory: Path) -> None:
    """Raise FileExistsError if there is something at this path."""
    if directory.exists():
        raise FileExistsError(f"{directory} exists and is never overwritten: remove it or choose another.")


@contextmanager
def making(directory: Path) -> Iterator[Path]:
    """Yield a temporary directory that becomes `directory` at the end, or is removed on an error.

    Raises:
        FileExistsError: If the directory exists.
    """
    check_new(directory)
    directory.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{_shortened(directory.name)}-"
    with (
        _named(directory, directory.with_name(prefix)),
        tempfile.TemporaryDirectory(prefix=prefix, dir=directory.parent) as scratch,
    ):
        complete = Path(scratch) / directory.name
        complete.mkdir()
        yield complete
        for path in (*complete.rglob("*"), complete):
            _sync(path)
        complete.rename(directory)
        _sync(directory.parent)


def _sync(path: Path) -> None:
    """Flush the content of a file, or the names in a directory, to the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
