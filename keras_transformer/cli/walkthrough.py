"""Print worked examples of attention, positions, masks and normalization, step by step.

The layers compute every number. With --output, the command also writes pictures and an HTML page.

example:
  keras-transformer walkthrough --example 1
  keras-transformer walkthrough --output walkthrough
"""

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from keras_transformer.cli._loading import load
from keras_transformer.viz.folder import INDEX, check_folder, write_folder
from keras_transformer.viz.walkthrough.examples import EXAMPLES, worked_example


def configure(parser: ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument("--output", type=Path, metavar="DIR", help=f"directory for {INDEX} and the pictures")
    parser.add_argument(
        "--example",
        type=int,
        choices=range(1, len(EXAMPLES) + 1),
        metavar="N",
        help=f"print only example N, from 1 to {len(EXAMPLES)} (all)",
    )


def run(arguments: Namespace) -> None:
    """Print the examples, and with --output write the folder."""
    folder: Path | None = arguments.output
    if folder:
        check_folder(folder)
    load("keras_transformer.layers")
    from keras_transformer.viz.walkthrough.terminal import render, spell

    numbers = [arguments.example] if arguments.example else range(1, len(EXAMPLES) + 1)
    encoding = sys.stdout.encoding or "utf-8"
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    examples = []
    for number in numbers:
        examples.append((number, worked_example(number)))
        print(render(examples[-1][1], number, encoding, colour))
    if folder:
        from keras_transformer.viz.walkthrough.page import page_files

        files = page_files(examples)
        write_folder(folder, files)
        for name in files:
            print(spell(f"Wrote {folder / name}", encoding))
        print(f"Read it: python -m webbrowser {(folder.resolve() / INDEX).as_uri()}")
    else:
        print("With pictures: keras-transformer walkthrough --output walkthrough", file=sys.stderr)
