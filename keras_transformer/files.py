"""Files that are whole or not at all: written beside, synced, renamed."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name to write to, which takes the place of `path` once all is written; on an error it is removed.

    A reader, and a process that was killed, finds the old file or the new one.
    """
    beside = path.with_name(f".partial-{path.name}")
    try:
        yield beside
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Bytes into a file, all of them or none."""
    with replacing(path) as beside:
        beside.write_bytes(content)


@contextmanager
def making(directory: Path) -> Iterator[Path]:
    """A directory to fill, which appears as `directory` once all is in it; on an error nothing does."""
    if directory.exists():
        raise FileExistsError(f"{directory} exists and is never overwritten: remove it or choose another.")
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}-", dir=directory.parent) as scratch:
        complete = Path(scratch) / directory.name
        complete.mkdir()
        yield complete
        for file in filter(Path.is_file, complete.rglob("*")):
            with file.open("rb") as written:
                os.fsync(written.fileno())
        complete.rename(directory)
