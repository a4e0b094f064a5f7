"""Translate text, line by line: a line out for each line in, as soon as it is there.

examples:
  echo "Je suis étudiant." | keras-transformer translate build/demo/run
  keras-transformer translate build/demo/run --input letters.txt > letters.en
  keras-transformer translate build/demo/run --input letters.txt --beam 5 --scores
  keras-transformer translate build/demo/models/fr-en/1 --input letters.txt
  keras-transformer translate grpc://127.0.0.1:50051 --input letters.txt
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import accumulate, islice, takewhile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from keras_transformer.cli._address import Address, path_or_address
from keras_transformer.cli._answers import Form, Translate, configure_answers
from keras_transformer.cli._lines import LineReader, interrupt_held_back, write_line
from keras_transformer.cli._opened import Opened, opened
from keras_transformer.cli._remote import (
    configure_remote,
    connected,
    refuse_what_only_a_server_needs,
)
from keras_transformer.text.corpus import STANDARD_INPUT
from keras_transformer.text.sentences import Parts
from keras_transformer.text.visible import visible

FIRST_CHUNK, LARGEST_CHUNK = 2**14, 2**18  # bytes
CHUNK_SECONDS = 5.0  # a chunk that took less is followed by one of twice the size
LOG_EVERY = 30.0


def configure(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "model",
        type=path_or_address,
        metavar="MODEL",
        help="a run directory, a .keras file, an exported version, or a server: grpc://HOST:PORT, with TLS "
        "grpcs://HOST:PORT, where it has several models followed by /NAME or /NAME/VERSION",
    )
    parser.add_argument(
        "--input", type=Path, default=STANDARD_INPUT, metavar="F", help="text; - is standard input"
    )
    configure_answers(parser)
    configure_remote(parser)


def run(arguments: argparse.Namespace) -> None:
    """Chunks of lines in, as many lines out; what is printed is never lost."""
    with LineReader.of(arguments.input) as lines, ready(arguments) as model:
        where = " from the terminal; Ctrl-D ends" if lines.from_terminal else " ..."
        print(visible(f"Translating{model.languages}{model.runtime}{where}"), file=sys.stderr, flush=True)
        if lines.waiting():
            model.translate(["."])  # what the first call costs is spent while nobody waits
        with Progress(lines, model.longest) as progress:
            translate = Portions(model.translate, progress.part)
            for chunk in chunks(lines):
                progress.begin()
                parts = [model.divide(line) for line in chunk]
                for line, divided in translated(parts, translate, model.form):
                    with interrupt_held_back():
                        write_line(line)
                        progress.count(divided)
                progress.end()


def ready(arguments: argparse.Namespace) -> AbstractContextManager[Opened]:
    """MODEL, where it is."""
    if isinstance(arguments.model, Address):
        return connected(arguments)
    refuse_what_only_a_server_needs(arguments)
    return nullcontext(opened(arguments))


def chunks(lines: LineReader) -> Iterator[list[str]]:
    """What is there, in the order it came: soon a first few lines, then enough for good batches."""
    most = FIRST_CHUNK
    while chunk := lines.take(most):
        began = time.monotonic()
        yield chunk
        if time.monotonic() - began < CHUNK_SECONDS:
            most = min(2 * most, LARGEST_CHUNK)


class Portions:
    """Texts through a model, as many at a time as `chunks` gives: a long line has several portions."""

    def __init__(self, translate: Translate, notify: Callable[[int, int], None]) -> None:
        """`notify` is called between two portions, with how many texts are done and how many there are."""
        self._translate, self._notify = translate, notify
        self._most = FIRST_CHUNK

    def __call__(self, texts: list[str]) -> Iterator[Any]:
        """The answer to each."""
        begin = 0
        while begin < len(texts):
            sizes = accumulate(len(text.encode()) for text in texts[begin:])
            end = begin + max(1, sum(1 for _ in takewhile(lambda size: size <= self._most, sizes)))
            began = time.monotonic()
            yield from self._translate(texts[begin:end])
            if time.monotonic() - began < CHUNK_SECONDS:
                self._most = min(2 * self._most, LARGEST_CHUNK)
            begin = end
            if begin < len(texts):
                self._notify(begin, len(texts))


def translated(lines: list[Parts], translate: Translate, form: Form) -> Iterator[tuple[str, int]]:
    """What is printed of each line, and how many of its sentences were divided."""
    texts = [text for line in lines for text in line.texts]
    found = iter(translate(texts) if texts else [])
    for line in lines:
        yield form(line, list(islice(found, len(line.texts)))), line.divided


class Progress:
    """What stderr says: a line that moves in a terminal, one now and then in a log, and what was done.

    Where the results go to a terminal they are what is seen to move.
    """

    def __init__(self, lines: LineReader, longest: int) -> None:
        self._lines, self._longest = lines, longest
        self._done = self._divided = 0
        self._worked = 0.0  # seconds; waiting for input is none of it
        self._moving = sys.stderr.isatty() and not sys.stdout.isatty()
        self._shown = self._began = time.monotonic()

    def begin(self) -> None:
        """A chunk has come."""
        self._began = time.monotonic()

    def count(self, divided: int) -> None:
        """A line is printed."""
        self._done += 1
        self._divided += divided

    def part(self, done: int, sentences: int) -> None:
        """So many of the sentences of the chunk are translated."""
        self._show(f"{_counted(self._done, 'line')}, and {done:,} of {sentences:,} sentences of the next")

    def end(self) -> None:
        """The chunk is printed."""
        self._worked += time.monotonic() - self._began
        share = "" if self._lines.share is None else f", {self._lines.share:.0%}"
        self._show(f"{self._rate()}{share}")

    def _show(self, line: str) -> None:
        now = time.monotonic()
        if self._moving or (now - self._shown >= LOG_EVERY and not sys.stdout.isatty()):
            self._shown = now
            self._say(line, end="" if self._moving else "\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is BrokenPipeError:
            return
        if kind is None and (self._moving or self._done > 1):
            self._say(self._rate())
        if kind is not None and self._done:
            self._say(f"{_counted(self._done, 'line')} done")
        if self._divided:
            self._say(
                f"{_counted(self._divided, 'sentence')} longer than the {self._longest} tokens "
                "that the model learned from: translated in pieces"
            )

    def _rate(self) -> str:
        rate = self._done / self._worked if self._worked else 0.0
        return f"{_counted(self._done, 'line')}, {self._worked:.1f} s, {rate:,.0f} lines/s"

    def _say(self, line: str, end: str = "\n") -> None:
        print(f"\r\x1b[K{line}" if self._moving else line, end=end, file=sys.stderr, flush=True)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
