"""Translate text, line by line.

examples:
  echo "Je suis étudiant." | keras-transformer translate build/demo/run
  keras-transformer translate build/demo/run --input letters.txt > letters.en
"""

import argparse
from itertools import islice
from pathlib import Path

from keras_transformer.cli.lines import STANDARD_INPUT, read_lines, write_lines

CHUNK = 1024


def configure(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="a run directory or a .keras file")
    parser.add_argument(
        "--input", type=Path, default=STANDARD_INPUT, metavar="F", help="text; - is standard input"
    )


def run(arguments: argparse.Namespace) -> None:
    """Chunks of lines in, as many lines out; what is printed is never lost."""
    lines = read_lines(arguments.input)
    from keras_transformer.cli.models import load_model

    model = load_model(arguments.model)
    while chunk := list(islice(lines, CHUNK)):
        write_lines(model.translate(chunk))
