"""Sentence pairs of the embedded corpus, a grammar of French and English: as TSV, or as two files.

examples:
  keras-transformer phrasebook fr-en --pairs 20
  keras-transformer phrasebook fr-en --split test --pairs 1000 --source test.fr --target test.en
"""

import argparse
from pathlib import Path

from keras_transformer.cli import CommandError
from keras_transformer.cli._lines import write_lines
from keras_transformer.files import replacing
from keras_transformer.text.visible import visible


def configure(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("direction", metavar="DIRECTION", help="fr-en or en-fr")
    parser.add_argument("--split", default="train", metavar="NAME", help="train, valid or test (train)")
    parser.add_argument("--pairs", type=int, default=1000, metavar="N", help="how many, all distinct (1000)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="decides which (0)")
    parser.add_argument("--source", type=Path, metavar="F", help="write the source sentences there")
    parser.add_argument("--target", type=Path, metavar="F", help="write their translations there")


def run(arguments: argparse.Namespace) -> None:
    """Generate, and write."""
    from keras_transformer.phrasebook import phrasebook

    if bool(arguments.source) != bool(arguments.target):
        raise CommandError("--source and --target go together.")
    if arguments.source and arguments.source.resolve() == arguments.target.resolve():
        raise CommandError(f"{arguments.source} is given as --source and as --target: name two files.")
    try:
        pairs = phrasebook(arguments.direction, arguments.split, arguments.pairs, arguments.seed)
    except ValueError as error:
        raise CommandError(str(error)) from error
    if not arguments.source:
        write_lines("\t".join(pair) for pair in pairs)
        return
    with (
        replacing(arguments.source) as beside,
        replacing(arguments.target) as other,
        beside.open("w", encoding="utf-8") as source,
        other.open("w", encoding="utf-8") as target,
    ):
        for pair in pairs:
            source.write(pair.source + "\n")
            target.write(pair.target + "\n")
    print(visible(f"wrote {arguments.source} and {arguments.target}"))
