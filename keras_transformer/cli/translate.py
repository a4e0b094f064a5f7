"""Translate text, line by line: each line of the input gives one line of the output, at once.

examples:
  echo "Je suis étudiant." | keras-transformer translate build/demo/run
  keras-transformer translate build/demo/run --input letters.txt > letters.en
  keras-transformer translate build/demo/run --input letters.txt --beam 5 --scores
  keras-transformer translate build/one build/two --input letters.txt
  keras-transformer translate build/demo/models/fr-en/1 --input letters.txt
  keras-transformer translate grpc://127.0.0.1:50051 --input letters.txt
  keras-transformer translate build/demo/models/fr-en/1 --engine processes --input 'in/*.gz' --output out
"""

import argparse
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, Self

from keras_transformer.cli import report
from keras_transformer.cli._answers import Form, Translate, configure_answers
from keras_transformer.cli._bulk import configure_bulk, refuse_bulk_options, translate_files
from keras_transformer.cli._lines import LineReader, interrupt_held_back, write_line
from keras_transformer.cli._models import configure_others
from keras_transformer.cli._opened import Opened, opened
from keras_transformer.cli._remote import (
    Address,
    configure_remote,
    connected,
    path_or_address,
    refuse_server_options,
)
from keras_transformer.inference.answer import Translation
from keras_transformer.progress_bar import progress_bar
from keras_transformer.text.corpus import STANDARD_INPUT
from keras_transformer.text.sentences import Parts

FIRST_PORTION, LARGEST_PORTION = 2**14, 2**18  # bytes
PORTION_SECONDS = 5.0  # after a portion that took less, the next one is twice as large


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument(
        "model",
        type=path_or_address,
        metavar="MODEL",
        help="a run directory, a .keras file, an exported version, or a server: grpc://HOST:PORT, or with "
        "TLS grpcs://HOST:PORT, followed by /NAME or /NAME/VERSION where it has several models",
    )
    configure_others(parser)
    parser.add_argument(
        "--input",
        type=Path,
        default=STANDARD_INPUT,
        metavar="F",
        help="text to translate, which may be gzipped; with --engine a pattern; - is standard input (-)",
    )
    configure_answers(parser)
    configure_bulk(parser)
    configure_remote(parser)


def run(arguments: argparse.Namespace) -> None:
    """Translate a corpus with an engine, or else one file."""
    if arguments.engine:
        translate_files(arguments)
    else:
        refuse_bulk_options(arguments)
        _translate_file(arguments)


def _translate_file(arguments: argparse.Namespace) -> None:
    """Translate chunks of lines. The printed count of lines is correct whatever interrupts it."""
    with LineReader.of(arguments.input) as lines, ready(arguments) as model:
        from_terminal = " from the terminal; Ctrl-D ends" if lines.from_terminal else " ..."
        report(f"Translating{model.languages}{model.runtime}{from_terminal}")
        if lines.waiting():
            model.translate([model.example])  # the first call is slow: make it while waiting for input
        with Progress(lines, model.longest) as progress:
            portions = Portions(model.translate, progress.show_portion)
            while chunk := lines.take(portions.max_bytes):
                progress.bar.unpause()  # excludes the time spent waiting for input
                parts = [model.divide(line if line.strip() else "") for line in chunk]
                for line, divided in translated(parts, portions, model.form):
                    with interrupt_held_back():
                        write_line(line.text)
                        progress.count(divided, line.looped)
                progress.show_chunk()


def ready(arguments: argparse.Namespace) -> AbstractContextManager[Opened]:
    """Open MODEL, which is a path or the address of a server."""
    if isinstance(arguments.model, Address):
        return connected(arguments)
    refuse_server_options(arguments)
    return nullcontext(opened(arguments))


class Portions:
    """Translation of texts in portions: first a few texts, later enough for good batches.

    Args:
        translate: Translates a portion.
        notify: Called between two portions with the number of translated texts and of all texts.
    """

    def __init__(self, translate: Translate, notify: Callable[[int, int], None]) -> None:
        self.max_bytes = FIRST_PORTION
        self._translate, self._notify = translate, notify

    def __call__(self, texts: list[str]) -> Iterator[Any]:
        """Yield the answer to each text."""
        ends = [0, *accumulate(len(text.encode()) for text in texts)]
        begin = 0
        while begin < len(texts):
            end = max(begin + 1, bisect_right(ends, ends[begin] + self.max_bytes) - 1)
            began = time.monotonic()
            yield from self._translate(texts[begin:end])
            if time.monotonic() - began < PORTION_SECONDS:
                self.max_bytes = min(2 * self.max_bytes, LARGEST_PORTION)
            begin = end
            if begin < len(texts):
                self._notify(begin, len(texts))


def translated(lines: list[Parts], translate: Translate, form: Form) -> Iterator[tuple[Translation, int]]:
    """Yield the output for each line, and the number of its sentences that were divided."""
    texts = [text for line in lines for text in line.texts]
    answers = iter(translate(texts) if texts else [])
    for line in lines:
        yield form(line, list(islice(answers, len(line.texts)))), line.divided


class Progress:
    """Progress on stderr, with a summary at the end.

    If the results go to a terminal, no progress is shown: the results are the progress.
    """

    def __init__(self, lines: LineReader, max_tokens: int) -> None:
        self._lines, self._max_tokens = lines, max_tokens
        self._done = self._looped = self._divided = 0  # lines, and sentences
        self._begin = 0  # bytes before the chunk
        self.bar = progress_bar(
            "{percentage:.0f}% " if lines.size else "",
            "{remaining} left{postfix}" if lines.size else "{elapsed}{postfix}",
            hidden=sys.stdout.isatty(),
            total=lines.size,
            mininterval=0,
        )

    def count(self, divided: int, looped: bool) -> None:
        """Record a printed line, the number of its sentences that were divided, and whether it is a loop."""
        self._done += 1
        self._looped += looped
        self._divided += divided

    def show_portion(self, done: int, sentences: int) -> None:
        """Show the number of translated sentences of the chunk."""
        text = f"{_counted(self._done, 'line')}, and {done:,} of {sentences:,} sentences of the next"
        self._show(text, self._begin + (self._lines.position - self._begin) * done // sentences)

    def show_chunk(self) -> None:
        """Show that the chunk is printed."""
        self._begin = self._lines.position
        self._show(self._rate(), self._begin)

    def _show(self, text: str, position: int) -> None:
        self.bar.set_postfix_str(text, refresh=False)
        self.bar.update(position - self.bar.n)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.bar.unpause()
        self.bar.close()
        if kind is BrokenPipeError:
            return
        if self._looped:
            loops = _counted(self._looped, "line")
            report(f"{loops} with a loop: the translation repeated itself and was cut, or did not end")
        if self._done > (1 if kind is None else 0):
            report(self._rate() if kind is None else f"{_counted(self._done, 'line')} done")
        if self._divided:
            report(
                f"{_counted(self._divided, 'sentence')} longer than the {self._max_tokens} tokens "
                "of the model's training sentences: translated in parts"
            )

    def _rate(self) -> str:
        seconds = self.bar.format_dict["elapsed"]
        rate = self._done / seconds if seconds else 0.0
        return f"{_counted(self._done, 'line')}, {seconds:.1f} s, {rate:,.0f} lines/s"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
