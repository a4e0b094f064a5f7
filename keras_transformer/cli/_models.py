"""The MODEL argument of a verb: what a path holds, what a wrong one may mean; and the options of a search."""

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from keras_transformer.cli import CommandError, _loading, at_least_one, failures
from keras_transformer.cli._target_language import add_target_language
from keras_transformer.interrupts import interruptible

if TYPE_CHECKING:
    from keras_transformer.models.architectures import Configuration
    from keras_transformer.models.encoder_decoder import EncoderDecoder
    from keras_transformer.models.ensemble import TranslationEnsemble

LARGEST_PENALTY = 10
MAX_BEAM = 256
DEFAULT_SEARCH: dict[str, Any] = {"beam": 1, "length_penalty": 1.0, "loop_guard": True}
MAX_CHILDREN = 1000  # entries of a directory that are examined
MAX_ENTRIES = 10_000  # entries of all directories together

Kind = Callable[[Path], bool]


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
    file = model_file(path)
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


def read_config(path: Path) -> "tuple[Configuration, bool]":
    """Return the network of a run directory or of a .keras file, and whether the model has a tokenizer.

    Raises:
        CommandError: If the file is damaged or contains another model.
    """
    from keras_transformer.training.runs.run_summary import FactsError, archived

    try:
        config, _, network_class = archived(model_file(path))
        return network_class.from_dict(config["network"]), config["tokenizer"] is not None
    except FactsError as error:
        raise CommandError(str(error)) from error
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(model_file(path), error) from error


def load_model(path: Path) -> "EncoderDecoder":
    """Load the model of a run directory or of a .keras file.

    Raises:
        CommandError: If there is no model, or it is damaged.
    """
    check_model(path)
    try:
        with interruptible():
            return _loading.load("keras_transformer.models.encoder_decoder").EncoderDecoder.load(path)
    except (ValueError, TypeError) as error:
        raise CommandError(str(error)) from error
    except (BadZipFile, KeyError, NotImplementedError) as error:  # of the archive: zipfile has all three
        raise _damaged(model_file(path), error) from error


def load_ensemble(paths: Sequence[Path]) -> "EncoderDecoder | TranslationEnsemble":
    """Load the model of a run directory or .keras file, or the ensemble of several.

    Raises:
        CommandError: If a model cannot be loaded, or they make no ensemble.
    """
    check_ensemble(paths)
    models = [load_model(path) for path in paths]
    if len(models) == 1:
        return models[0]
    with failures(ValueError):
        return _loading.load("keras_transformer.models.ensemble").TranslationEnsemble(
            models, [str(path) for path in paths]
        )


def check_ensemble(paths: Sequence[Path]) -> None:
    """Raise CommandError if the models of these paths make no ensemble, before Keras is loaded for them."""
    from keras_transformer.models.one_vocabulary import check_one_vocabulary
    from keras_transformer.training.runs.starting_point import StartingPoint

    for path in paths:
        check_model(path)
    if len(paths) > 1:
        with failures(ValueError):
            check_one_vocabulary({str(path): StartingPoint.of(path).tokenizer for path in paths})


def model_file(path: Path) -> Path:
    """Return the .keras file of a run directory, or the file itself."""
    return path / "model.keras" if path.is_dir() else path


def _damaged(file: Path, error: Exception) -> CommandError:
    return CommandError(
        f"{file} is damaged ({error.args[0]}): restore it from an intact copy, or train it again."
    )


def configure_others(parser: argparse.ArgumentParser) -> None:
    """Add the further models of an ensemble, after MODEL."""
    parser.add_argument(
        "others",
        type=Path,
        nargs="*",
        metavar="RUN",
        help="more runs or .keras files with the vocabulary of MODEL, a run too: an ensemble, which averages "
        "their probabilities",
    )


def configure_search(parser: argparse.ArgumentParser) -> None:
    """Add the options of a search."""
    parser.add_argument(
        "--beam",
        type=at_least_one("a beam keeps at least 1 answer", MAX_BEAM),
        default=DEFAULT_SEARCH["beam"],
        metavar="N",
        help="width of the beam search; 1 is greedy (1)",
    )
    parser.add_argument(
        "--length-penalty",
        type=length_penalty,
        default=DEFAULT_SEARCH["length_penalty"],
        metavar="X",
        help="divide the score of an answer by its length to this power; more prefers long answers (1.0)",
    )
    parser.add_argument(
        "--no-loop-guard",
        dest="loop_guard",
        action="store_false",
        help="return answers that repeat themselves as they are; by default the next answer of the beam is "
        "taken, or the repetition is cut",
    )
    add_target_language(parser)


def search_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of a search as arguments of the model's methods."""
    return {name: getattr(arguments, name) for name in DEFAULT_SEARCH}


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


def is_run(path: Path) -> bool:
    """Return whether it is a run directory."""
    return (path / "run.json").is_file() or (path / "model.keras").is_file()


def is_model_file(path: Path) -> bool:
    """Return whether it is a .keras file."""
    return path.suffix == ".keras" and path.is_file()


def is_version(path: Path) -> bool:
    """Return whether it is an exported version."""
    return (path / "manifest.json").is_file()


def is_root(path: Path, budget: Iterator[int] | None = None) -> bool:
    """Return whether it has NAME/VERSION directories, after examining at most `budget` entries."""
    budget = _budget() if budget is None else budget
    return any(is_version(version) for name in _children(path, budget) for version in _children(name, budget))


def refuse_if_another_is_near(path: Path, *kinds: Kind) -> None:
    """Raise CommandError if the path is of none of these kinds, and suggest a path near it that is.

    Near a directory are the entries up to two levels below it. Near a path that does not exist are entries of
    its parent with a similar name, and the newest version.
    """
    if any(kind(path) for kind in kinds):
        return
    budget = _budget()
    near = _inside(path, budget) if path.exists() else _beside(path, budget)
    for candidate in near:
        if any(is_root(candidate, budget) if kind is is_root else kind(candidate) for kind in kinds):
            problem = "is not one that this verb takes" if path.exists() else "does not exist"
            raise CommandError(f"{path} {problem}: did you mean {candidate}?")


def _budget() -> Iterator[int]:
    return iter(range(MAX_ENTRIES))


def _inside(path: Path, budget: Iterator[int]) -> Iterator[Path]:
    children = _children(path, budget)
    yield from children
    for child in children:
        yield from _children(child, budget)


def _beside(path: Path, budget: Iterator[int]) -> Iterator[Path]:
    siblings = {sibling.name: sibling for sibling in _children(path.parent, budget)}
    names = [name for name in siblings if path.name.isdecimal() and name.isdecimal()]
    names += get_close_matches(path.name, siblings)
    return map(siblings.__getitem__, names)


def _children(path: Path, budget: Iterator[int]) -> list[Path]:
    """Return the entries of a directory, the highest version first; none if it cannot be read."""

    def order(entry: Path) -> tuple[int, str]:
        return (-int(entry.name) if entry.name.isdecimal() else 0, entry.name)

    try:
        entries = [entry for entry, _ in zip(islice(path.iterdir(), MAX_CHILDREN), budget, strict=False)]
    except OSError:
        return []
    return sorted((entry for entry in entries if not entry.name.startswith(".")), key=order)
