"""How a verb opens the MODEL that it was given, and how that searches for its answers."""

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

from keras_transformer.cli import CommandError, loading

if TYPE_CHECKING:
    from keras_transformer.models.translation import TranslationModel

LARGEST_PENALTY = 10


def load_model(path: Path) -> "TranslationModel":
    """A run directory or a .keras file."""
    from export.manifest import looks_exported

    if not path.exists():
        raise CommandError(f"{path} does not exist: name a run directory or a .keras file.")
    if looks_exported(path):
        raise CommandError(
            f"{path} is an exported version, for `translate`, `verify` and `info`: name the run here that "
            "it was exported from."
        )
    try:
        return loading.load("keras_transformer.models.translation").TranslationModel.load(path)
    except (ValueError, TypeError) as error:
        raise CommandError(str(error)) from error
    except (BadZipFile, KeyError, NotImplementedError) as error:  # of the archive: zipfile has all three
        file = path / "model.keras" if path.is_dir() else path
        raise CommandError(
            f"{file} is damaged ({error.args[0]}): copy it from where it is whole, or train it again."
        ) from error


def configure_search(parser: argparse.ArgumentParser) -> None:
    """The options of a verb whose model translates."""
    parser.add_argument(
        "--beam",
        type=at_least_one("a beam keeps at least 1 answer"),
        default=1,
        metavar="N",
        help="answers kept while searching; 1 is greedy (1)",
    )
    parser.add_argument(
        "--length-penalty",
        type=length_penalty,
        default=1.0,
        metavar="X",
        help="the power of its length that an answer's score is divided by; more is longer (1.0)",
    )


def search_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """What was said of them, for the model."""
    return {"beam": arguments.beam, "length_penalty": arguments.length_penalty}


def length_penalty(text: str) -> float:
    """Past the largest, the power of a long answer's length is more than a number can hold."""
    try:
        penalty = float(text)
    except ValueError:
        penalty = math.nan
    if not 0 <= penalty <= LARGEST_PENALTY:
        raise argparse.ArgumentTypeError(
            f"a length penalty is a number from 0 to {LARGEST_PENALTY}; got {text}"
        )
    return penalty


def at_least_one(rule: str) -> Callable[[str], int]:
    """For an option that counts something; `rule` is what is said if it does not."""

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < 1:
            raise argparse.ArgumentTypeError(f"{rule}; got {text}")
        return int(text)

    return number
