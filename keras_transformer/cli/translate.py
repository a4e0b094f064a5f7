"""Translate text, line by line.

examples:
  echo "Je suis étudiant." | keras-transformer translate build/demo/run
  keras-transformer translate build/demo/run --input letters.txt > letters.en
"""

import argparse
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from keras_transformer.cli import CommandError

CHUNK = 1024


def configure(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="a run directory or a .keras file")
    parser.add_argument(
        "--input", type=Path, default=Path("-"), metavar="F", help="text; - is standard input"
    )


def run(arguments: argparse.Namespace) -> None:
    """Chunks of lines in, as many lines out; what is printed is never lost."""
    lines = _lines(arguments.input)
    from keras_transformer.cli.models import load_model

    model = load_model(arguments.model)
    while chunk := list(islice(lines, CHUNK)):
        print("\n".join(model.translate(chunk)), flush=True)


def _lines(path: Path) -> Iterator[str]:
    stdin = str(path) == "-"
    if not stdin and not path.is_file():
        raise CommandError(f"{path} is no file.")
    with open(sys.stdin.fileno() if stdin else path, "rb", closefd=not stdin) as file:
        for number, line in enumerate(file, start=1):
            try:
                yield line.removesuffix(b"\n").removesuffix(b"\r").decode()
            except UnicodeDecodeError as error:
                raise CommandError(f"{path}, line {number}: not UTF-8 ({error}).") from error
