"""Print sentence pairs of the embedded corpus, a grammar of French and English, as TSV, or write two files.

examples:
  keras-transformer phrasebook fr-en --pairs 20
  keras-transformer phrasebook fr-en --split test --pairs 1000 --source test.fr --target test.en
"""

import argparse

from keras_transformer.cli import add_files
from keras_transformer.cli._lines import write_lines
from keras_transformer.files import replacing, write_whole
from keras_transformer.text.visible import visible


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument("direction", metavar="DIRECTION", help="source and target language: fr-en or en-fr")
    parser.add_argument(
        "--split", default="train", metavar="NAME", help="part of the corpus: train, valid or test (train)"
    )
    parser.add_argument(
        "--pairs", type=int, default=1000, metavar="N", help="number of pairs, all distinct (1000)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the choice of pairs (0)")
    add_files(parser, {"--source": "file for the source sentences; with --target"})
    add_files(parser, {"--target": "file for their translations; with --source"})


def run(arguments: argparse.Namespace) -> None:
    """Print the pairs, or write them to two files."""
    from keras_transformer.phrasebook import phrasebook

    if bool(arguments.source) != bool(arguments.target):
        arguments.usage_error("--source and --target go together.")
    if arguments.source and arguments.source.resolve() == arguments.target.resolve():
        arguments.usage_error(f"{arguments.source} is given as --source and as --target: name two files.")
    try:
        pairs = phrasebook(arguments.direction, arguments.split, arguments.pairs, arguments.seed)
    except ValueError as error:
        arguments.usage_error(str(error))
    if not arguments.source:
        write_lines("\t".join(pair) for pair in pairs)
        return
    sources, targets = ("".join(f"{text}\n" for text in side).encode() for side in zip(*pairs, strict=True))
    with replacing(arguments.source) as temp_path:
        temp_path.write_bytes(sources)
        write_whole(arguments.target, targets)
    print(visible(f"wrote {arguments.source} and {arguments.target}"))
