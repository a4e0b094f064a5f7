"""What a path of the command line is, by the names in it, and which one near it may be meant instead."""

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from keras_transformer.cli import CommandError

MAX_ENTRIES = 1000  # of a directory that are looked at

Kind = Callable[[Path], bool]


def is_run(path: Path) -> bool:
    """Whether it is a run directory."""
    return (path / "run.json").is_file() or (path / "model.keras").is_file()


def is_model_file(path: Path) -> bool:
    """Whether it is a .keras file."""
    return path.suffix == ".keras" and path.is_file()


def is_version(path: Path) -> bool:
    """Whether it is an exported version."""
    return (path / "manifest.json").is_file()


def is_root(path: Path) -> bool:
    """Whether it holds NAME/VERSION directories."""
    return any(is_version(version) for name in _children(path) for version in _children(name))


def refuse_if_another_is_near(path: Path, *kinds: Kind) -> None:
    """Raise CommandError if the path is of none of these kinds, and one near it is.

    Near is what lies in a directory, up to two levels below it; beside a path that does not exist, one with
    almost the same name, or the newest version.
    """

    def fits(path: Path) -> bool:
        return any(kind(path) for kind in kinds)

    if fits(path):
        return
    near = next(_inside(path, fits) if path.exists() else _beside(path, fits), None)
    if near is not None:
        problem = "is not one that this verb takes" if path.exists() else "does not exist"
        raise CommandError(f"{path} {problem}: did you mean {near}?")


def _inside(path: Path, fits: Kind) -> Iterator[Path]:
    children = _children(path)
    yield from filter(fits, children)
    for child in children:
        yield from filter(fits, _children(child))


def _beside(path: Path, fits: Kind) -> Iterator[Path]:
    there = {each.name: each for each in _children(path.parent)}
    names = [name for name in there if path.name.isdecimal() and name.isdecimal()]
    names += get_close_matches(path.name, there)
    return filter(fits, map(there.__getitem__, names))


def _children(path: Path) -> list[Path]:
    """The entries of a directory, the highest version first; none where it cannot be read."""

    def order(entry: Path) -> tuple[int, str]:
        return (-int(entry.name) if entry.name.isdecimal() else 0, entry.name)

    try:
        entries = list(islice(path.iterdir(), MAX_ENTRIES))
    except OSError:
        return []
    return sorted((entry for entry in entries if not entry.name.startswith(".")), key=order)
