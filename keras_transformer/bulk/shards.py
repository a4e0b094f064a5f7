"""Shards: consecutive rows of a file that are translated together and written whole or not at all."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from keras_transformer.bulk import BulkError
from keras_transformer.bulk.corpus_files import Input
from keras_transformer.bulk.formats import Format
from keras_transformer.files import PARTIAL, replacing

MAX_ATTEMPTS = 4
ATTEMPTS = ".attempts"  # ends the name of a file with a byte for each worker that has begun a shard


@dataclass(frozen=True)
class Shard:
    """Rows of a file that are to be translated.

    Attributes:
        source: The file.
        index: Number of the shard in the file, from 0.
        first: Number of its first row, from 1.
        rows: The rows, as their format has them.
        count: Number of rows.
        weight: Bytes of the file that they stand for.
        path: Where the translation is written.
    """

    source: Path
    index: int
    first: int
    rows: Any
    count: int
    weight: int
    path: Path

    def __str__(self) -> str:
        return f"{self.source}, {self.lines}"

    @property
    def lines(self) -> str:
        """The numbers of its lines, for messages."""
        return f"lines {self.first:,} to {self.first + self.count - 1:,}"

    def done(self, seconds: float = 0.0, memory: int = 0) -> "Done":
        """Return the record of its translation."""
        return Done(
            self.source,
            self.index,
            self.count,
            self.weight,
            seconds,
            memory,
            f"{self.source.name}, {self.lines}",
        )


@dataclass(frozen=True)
class Done:
    """A shard whose translation is written; one without rows is the end of its file.

    Attributes:
        source: The file.
        index: Number of the shard in the file; at the end, the number of shards.
        count: Number of rows.
        weight: Bytes of the file that they stand for.
        seconds: Time of the translation; 0 if an earlier command has made it.
        memory: Largest memory of the worker so far, in bytes.
        label: File and lines, for messages.
    """

    source: Path
    index: int
    count: int
    weight: int
    seconds: float = 0.0
    memory: int = 0
    label: str = ""


@dataclass(frozen=True)
class Failed:
    """Error for which the whole translation ends."""

    message: str


def cut(source: Input, directory: Path, form: Format) -> Iterator[Shard | Done]:
    """Cut a file into shards, in one stream.

    Args:
        source: The file.
        directory: Where the shards of the file are written.
        form: Format of the file.

    Yields:
        A shard, or `Done` for one whose translation is there; the end of the file comes last.
    """
    index, first = 0, 1
    for rows in form.cut(source.path):
        path = shard_path(directory, index)
        shard = Shard(source.path, index, first, rows.content, rows.count, rows.weight, path)
        yield shard.done() if shard.path.exists() else shard
        index, first = index + 1, first + rows.count
    yield Done(source.path, index, 0, 0)


def shard_path(directory: Path, index: int) -> Path:
    """Return where the translation of a shard is written."""
    return directory / f"{index:07}"


def count_attempt(shard: Shard) -> None:
    """Record on the disk that a worker begins with a shard.

    Raises:
        BulkError: Too many workers have ended in the middle of it.
    """
    with _attempts(shard).open("ab") as file:
        file.write(b".")
        attempts = file.tell()
    if attempts > MAX_ATTEMPTS:
        raise BulkError(
            f"{MAX_ATTEMPTS} workers have ended while they translated {shard}: they may need more "
            "memory than there is. Look at these lines, and repeat the command with fewer workers; finished "
            "shards stay."
        )


def write_shard(shard: Shard, write: Callable[[Path], None]) -> None:
    """Write the translation of a shard atomically, also while a worker that was given up writes it."""
    with replacing(shard.path, f"{uuid4().hex}-") as temp_path:
        write(temp_path)
    _attempts(shard).unlink(missing_ok=True)


def _attempts(shard: Shard) -> Path:
    return shard.path.with_suffix(ATTEMPTS)


def remove_leftovers(directory: Path) -> None:
    """Remove what killed workers have left."""
    for pattern in (f"{PARTIAL}*", f"*{ATTEMPTS}"):
        for path in directory.rglob(pattern):
            if path.is_file():  # the directory of an input may have such a name
                path.unlink()
