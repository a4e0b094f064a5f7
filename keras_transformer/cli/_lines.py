"""Reading and writing of lines in UTF-8, with any locale. The input may be compressed with gzip."""

import io
import os
import select
import signal
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Self

from keras_transformer.cli import CommandError
from keras_transformer.interrupts import raise_interrupt
from keras_transformer.text.corpus import (
    GZIP_MAGIC,
    STANDARD_INPUT,
    CorpusError,
    Stream,
    decoded,
    decompressed,
    reading,
)
from keras_transformer.text.visible import single_line, visible


class LineReader:
    """Reader of the lines of a file, a pipe or a terminal as they arrive, without their line ends.

    It keeps in memory only the lines that the last `take` read, and the beginning of an unfinished line.
    """

    def __init__(self, file: int, path: Path) -> None:
        """Read from a file descriptor; `path` is its name in errors."""
        self.read = 0  # bytes, decompressed
        self._path = path
        self._file = file
        # the buffer is only as large as the magic bytes of gzip: poll does not see buffered bytes
        self._raw = io.BufferedReader(io.FileIO(file, closefd=False), len(GZIP_MAGIC))
        self._stream: Stream | None = None
        self._poll = select.poll()
        self._poll.register(file, select.POLLIN)
        self._taken = 0  # lines
        self._offset = 0  # bytes of the lines taken
        self._whole: list[bytes] = []
        self._begun = bytearray()
        self._ended = False
        self._wrong: CorpusError | None = None

    @classmethod
    @contextmanager
    def of(cls, path: Path) -> Iterator[Self]:
        """Open a file, or standard input for "-"."""
        if path == STANDARD_INPUT:
            if sys.stdin is None:
                raise CommandError("standard input is closed: name a file with --input.")
            yield cls(sys.stdin.fileno(), path)
            return
        if not path.exists() or path.is_dir():
            raise CommandError(
                f"{path} is {'a directory' if path.is_dir() else 'no file'}: name a text file."
            )
        with path.open("rb", buffering=0) as file:
            yield cls(file.fileno(), path)

    @property
    def from_terminal(self) -> bool:
        """Whether the lines come from a terminal."""
        return os.isatty(self._file)

    @property
    def size(self) -> int | None:
        """Size of a file in bytes; None for a pipe or a terminal, whose end is not known."""
        status = os.fstat(self._file)
        return status.st_size if stat.S_ISREG(status.st_mode) and status.st_size else None

    @property
    def position(self) -> int:
        """Number of bytes read so far: of the file if it has a `size`, otherwise after decompression."""
        return os.lseek(self._file, 0, os.SEEK_CUR) if self.size else self.read

    def waiting(self) -> bool:
        """Return whether there is nothing to read yet: no line, no further bytes, and not the end."""
        return not (self._whole or self._ended or self._poll.poll(0))

    def take(self, max_bytes: int) -> list[str]:
        """Return the lines that have arrived, about `max_bytes` bytes at most; an empty list at the end.

        It waits only while no line has arrived: a program that waits for each answer before it sends the next
        line gets its answer. If a line cannot be read, the lines before it are returned first; then
        CommandError is raised.
        """
        begin = self.read
        while not self._ended and (not self._whole or (self.read - begin < max_bytes and self._poll.poll(0))):
            rest = max_bytes - (self.read - begin)
            self._read(rest if rest > 0 else max_bytes)
        lines, self._whole = self._whole, []
        texts: list[str] = []
        for line in lines:
            self._taken += 1
            try:
                texts.append(decoded(self._path, self._taken, line, self._offset))
            except CorpusError as error:
                self._wrong, self._ended = error, True
                break
            self._offset += len(line) + 1
        if self._wrong and not texts:
            raise CommandError(f"{self._wrong}.") from self._wrong
        return texts

    def _read(self, max_bytes: int) -> None:
        try:
            with reading(self._path):
                if self._stream is None:  # gzip is not looked for on a terminal: it would need two Ctrl-D
                    self._stream = self._raw if self.from_terminal else decompressed(self._raw, self._path)
                data = self._stream.read1(max_bytes)
        except CorpusError as error:
            self._wrong, self._ended = error, True
            return
        self.read += len(data)
        *whole, begun = data.split(b"\n")
        if whole:
            self._whole += [bytes(self._begun) + whole[0], *whole[1:]]
            self._begun.clear()
        self._begun += begun
        self._ended = not data
        if self._ended and self._begun:
            self._whole.append(bytes(self._begun))


def read_lines(path: Path) -> Iterator[str]:
    """Yield all lines of a file, or of standard input for "-"."""
    with LineReader.of(path) as lines:
        while taken := lines.take(2**16):
            yield from taken


def write_lines(lines: Iterable[str]) -> None:
    """Write lines to standard output. A Ctrl-C takes effect after a whole line."""
    for line in lines:
        with interrupt_held_back():
            write_line(line)


def write_line(line: str) -> None:
    """Write a line to standard output at once; a line end inside becomes a space.

    A terminal receives no control characters; a file or a pipe receives the text unchanged.
    """
    sys.stdout.flush()
    line = single_line(line)
    rest = memoryview((visible(line) if sys.stdout.isatty() else line).encode() + b"\n")
    while rest:  # if stdout has no buffer, as with PYTHONUNBUFFERED, a signal can shorten a write
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()


@contextmanager
def interrupt_held_back() -> Iterator[None]:
    """Delay a Ctrl-C until the block is done; a second one takes effect at once."""
    interrupt = signal.getsignal(signal.SIGINT)
    if not callable(interrupt):
        yield
        return
    came: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        if came:
            interrupt(number, frame)
        came.append(number)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, interrupt)
    if came:
        interrupt(signal.SIGINT, None)
    raise_interrupt()
