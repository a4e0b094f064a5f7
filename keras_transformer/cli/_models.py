"""The MODEL argument of a verb, and the options of its search."""

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from keras_transformer.cli import CommandError, _loading, at_least_one
from keras_transformer.cli._interrupts import interruptible
from keras_transformer.cli._nearby import is_model_file, is_run, refuse_if_another_is_near

if TYPE_CHECKING:
    from keras_transformer.models.translation import TranslationModel

LARGEST_PENALTY = 10
MAX_BEAM = 256


def check_model(path: Path) -> None:
    """Raise CommandError if this is not a run directory or a .keras file, before Keras is loaded for it."""
    from export.artifact.manifest import looks_exported

    refuse_if_another_is_near(path, is_run, is_model_file)
    if not path.exists():
        raise CommandError(f"{path} does not exist: name a run directory or a .keras file.")
    if looks_exported(path):
        raise CommandError(
            f"{path} is an exported version, for `translate`, `evaluate`, `verify` and `info`: "
            "name the run from which it was exported."
        )
    file = _file(path)
    if path.is_dir() and not file.exists():
        raise CommandError(f"there is no model in {path}: {file} does not exist.")
    if not is_model_file(file):
        raise CommandError(
            f"{path} is not a .keras file: MODEL is a run directory or a .keras file, not a text file."
        )
    try:
        ZipFile(file).close()
    except BadZipFile as error:
        raise _damaged(file, error) from error


def load_model(path: Path) -> "TranslationModel":
    """Load the model of a run directory or of a .keras file.

    Raises:
        CommandError: If there is no model, or it is damaged.
    """
    check_model(path)
    try:
        with interruptible():
            return _loading.load("keras_transformer.models.translation").TranslationModel.load(path)
    except (ValueError, TypeError) as error:
        raise CommandError(str(error)) from error
    except (BadZipFile, KeyError, NotImplementedError) as error:  # of the archive: zipfile has all three
        raise _damaged(_file(path), error) from error


def _file(path: Path) -> Path:
    return path / "model.keras" if path.is_dir() else path


def _damaged(file: Path, error: Exception) -> CommandError:
    return CommandError(
        f"{file} is damaged ({error.args[0]}): restore it from an intact copy, or train it again."
    )


def configure_search(parser: argparse.ArgumentParser) -> None:
    """Add the options of a search."""
    parser.add_argument(
        "--beam",
        type=at_least_one("a beam keeps at least 1 answer", MAX_BEAM),
        default=1,
        metavar="N",
        help="width of the beam search; 1 is greedy (1)",
    )
    parser.add_argument(
        "--length-penalty",
        type=length_penalty,
        default=1.0,
        metavar="X",
        help="divide the score of an answer by its length to this power; more prefers long answers (1.0)",
    )
    parser.add_argument(
        "--target-language",
        metavar="CODE",
        help="language to translate into, of an imported model that has several; info lists them",
    )


def search_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of a search as arguments of the model's methods."""
    return {"beam": arguments.beam, "length_penalty": arguments.length_penalty}


def length_penalty(text: str) -> float:
    """Parse a length penalty; with a larger one, a score's divisor would exceed a float."""
    try:
        penalty = float(text)
    except ValueError:
        penalty = math.nan
    if not 0 <= penalty <= LARGEST_PENALTY:
        raise argparse.ArgumentTypeError(
            f"a length penalty is a number from 0 to {LARGEST_PENALTY}; got {text}"
        )
    return penalty
