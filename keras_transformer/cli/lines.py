"""Lines of text in and out of a verb: UTF-8, whatever the locale."""

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

STANDARD_INPUT = Path("-")


class Lines:
    """The lines of a file, a pipe or a terminal, without their ends, as they come.

    In memory are the lines that were taken last, and one whose end has not come.
    """

    def __init__(self, file: int, name: str) -> None:
        self.read = 0  # bytes
        self._name = name
        self._file = file
        self._poll = select.poll()
        self._poll.register(file, select.POLLIN)
        self._taken = 0  # lines
        self._whole: list[bytes] = []
        self._begun = bytearray()
        self._ended = False
        self._wrong: CommandError | None = None

    @classmethod
    @contextmanager
    def of(cls, path: Path) -> Iterator[Self]:
        """The lines of a file, or with - of standard input."""
        if path == STANDARD_INPUT:
            if sys.stdin is None:
                raise CommandError("standard input is closed: name a file with --input.")
            yield cls(sys.stdin.fileno(), "standard input")
            return
        if not path.exists() or path.is_dir():
            raise CommandError(
                f"{path} is {'a directory' if path.is_dir() else 'no file'}: name a text file."
            )
        with path.open("rb", buffering=0) as file:
            yield cls(file.fileno(), str(path))

    @property
    def from_terminal(self) -> bool:
        return os.isatty(self._file)

    @property
    def size(self) -> int | None:
        """The bytes of a file; what a pipe will bring is not known."""
        status = os.fstat(self._file)
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def waiting(self) -> bool:
        """Whether a line, or the end, has yet to come."""
        return not (self._whole or self._ended or self._poll.poll(0))

    def take(self, most: int) -> list[str]:
        """The next lines, none at the end: those that are there, about `most` bytes of them at most.

        It waits only while there is none: whoever writes a line and waits for the answer gets it. A line that
        is not UTF-8 is an error once those before it have been taken.
        """
        if self._wrong:
            raise self._wrong
        begin = self.read
        while not self._ended and (not self._whole or (self.read - begin < most and self._poll.poll(0))):
            self._read(most)
        lines, self._whole = self._whole, []
        texts: list[str] = []
        for line in lines:
            self._taken += 1
            try:
                texts.append(line.removesuffix(b"\r").decode())
            except UnicodeDecodeError as error:
                self._wrong = CommandError(f"{self._name}, line {self._taken}: not UTF-8 ({error}).")
                return texts or self.take(most)
        return texts

    def _read(self, most: int) -> None:
        data = os.read(self._file, most)
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
    """All the lines of a file, or with - of standard input."""
    with Lines.of(path) as lines:
        while taken := lines.take(2**16):
            yield from taken


def write_lines(lines: Iterable[str]) -> None:
    """A line of standard output for each; a Ctrl-C comes between two of them."""
    for line in lines:
        with interrupt_held_back():
            write_line(line)


def write_line(line: str) -> None:
    """A line of standard output, at once; a line end inside becomes a space."""
    sys.stdout.flush()
    rest = memoryview(line.replace("\r", " ").replace("\n", " ").encode() + b"\n")
    while rest:  # without a buffer, as under PYTHONUNBUFFERED, a signal cuts a write short
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()


@contextmanager
def interrupt_held_back() -> Iterator[None]:
    """A Ctrl-C waits until what was begun is done; a second one does not."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    came: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(number)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if came:
        raise KeyboardInterrupt
