"""Lines of text in and out of a verb: UTF-8, whatever the locale."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from keras_transformer.cli import CommandError

STANDARD_INPUT = Path("-")


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a file, or with - of standard input, without their ends."""
    stdin = path == STANDARD_INPUT
    if not stdin and not path.is_file():
        raise CommandError(f"{path} is no file.")
    with open(sys.stdin.fileno() if stdin else path, "rb", closefd=not stdin) as file:
        for number, line in enumerate(file, start=1):
            try:
                yield line.removesuffix(b"\n").removesuffix(b"\r").decode()
            except UnicodeDecodeError as error:
                raise CommandError(f"{path}, line {number}: not UTF-8 ({error}).") from error


def write_lines(lines: Iterable[str]) -> None:
    """A line of standard output for each, at once; a line end inside one becomes a space."""
    sys.stdout.flush()
    for line in lines:
        sys.stdout.buffer.write(line.replace("\r", " ").replace("\n", " ").encode() + b"\n")
    sys.stdout.buffer.flush()
