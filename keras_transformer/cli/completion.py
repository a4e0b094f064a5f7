"""Print the script that completes verbs, options, their values and files in a shell.

examples:
  keras-transformer completion bash > ~/.local/share/bash-completion/completions/keras-transformer
  keras-transformer completion zsh > ~/.zsh/completions/_keras-transformer
  keras-transformer completion fish > ~/.config/fish/completions/keras-transformer.fish
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from keras_transformer.cli import failures, program
from keras_transformer.cli._remote import path_or_address
from keras_transformer.libraries import LibraryError, check_installed

SHELLS = ("bash", "zsh", "fish")
DIRECTIONS, SPLITS = ("fr-en", "en-fr"), ("train", "valid", "test")  # repeated here to load no phrasebook


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads the script")


def run(arguments: argparse.Namespace) -> None:
    """Pass the options of every verb to shtab, and print the script."""
    with failures(LibraryError, end="."):
        check_installed(["shtab"], "completion", "serve")
    import shtab

    names = _names()
    parser, verbs = program()
    for verb in verbs:
        verb.load()
        for action in verb._actions:
            action.choices = action.choices or names.get(action.dest)
            if action.metavar == "DIR":
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
            elif action.type in (Path, path_or_address):
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(parser, arguments.shell))


def _names() -> dict[str, Sequence[str]]:
    """Return the values of options that a verb checks itself, in order to report several problems at once."""
    from keras_transformer.cli.export import DEFAULT_FORMATS
    from keras_transformer.models.network import PRESETS
    from keras_transformer.training.recipe import PRECISIONS, SCHEDULES, TOKENIZERS

    return {
        "direction": DIRECTIONS,
        "format": DEFAULT_FORMATS.split(","),
        "phrasebook": DIRECTIONS,
        "precision": PRECISIONS,
        "preset": tuple(PRESETS),
        "quantize": ("int8",),
        "schedule": SCHEDULES,
        "split": SPLITS,
        "tokenizer": TOKENIZERS,
    }
