"""The option --target-language, and its remedy where a model of several targets lacks one."""

import argparse
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from keras_transformer.cli import failures
from keras_transformer.text.division import TargetLanguageError

if TYPE_CHECKING:
    from keras_transformer.text.tokenizer import Tokenizer


def add_target_language(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--target-language",
        metavar="CODE",
        help="language to translate into, of an imported model that has several; info lists them",
    )


def target_language_failures(tokenizer: "Tokenizer") -> AbstractContextManager[None]:
    """Return a context in which TargetLanguageError ends the command, with what to do."""
    named = "Name it with --target-language, or begin the line with >>CODE<<."
    remedy = named if tokenizer.all_languages else "Leave out --target-language."
    return failures(TargetLanguageError, end=f" {remedy}")
