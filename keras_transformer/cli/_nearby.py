"""Recognition of runs, model files and versions by file names, and suggestions for a wrong path."""

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from keras_transformer.cli import CommandError

MAX_CHILDREN = 1000  # entries of a directory that are examined
MAX_ENTRIES = 10_000  # entries of all directories together

Kind = Callable[[Path], bool]


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
