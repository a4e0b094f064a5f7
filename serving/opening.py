"""What lies on the disk: NAME/VERSION directories, the pins beside them, and how they are opened."""

import logging
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from export.manifest import VersionError, looks_exported, open_version
from serving.model import EngineSettings, Model, ModelError, load_model
from serving.models import Models

_logger = logging.getLogger(__name__)

PIN = "default"  # NAME/default holds the number of the version that is to be the default
PIN_BYTES = 64  # of it that are read
MAX_FILES = 1_000  # of a version that are looked at for changes
NUMBERS = 2**64  # of versions: what the wire can carry

Stamp = tuple[tuple[str, int, int, int], ...]


class Place:
    """Where a version lies, what it is called, and by what a change of it is known."""

    def __init__(self, path: Path, name: str, version: int) -> None:
        """The path may be a link, or lead through some: once they lead elsewhere the version has changed."""
        self.directory = path.resolve()
        self.name = name
        self.version = version
        self.stamp = _stamp(self.directory)


class Seen(NamedTuple):
    """A look at a root."""

    places: list[Place]
    pins: dict[str, str]  # what is in the files, which may be anything
    troubles: list[str]  # what is passed over, and why


def look(root: Path) -> Seen:
    """NAME/VERSION directories, or the one that the root is itself; or an OSError: nobody knows."""
    if looks_exported(root):
        return Seen([_alone(root.resolve())], {}, [])
    seen = Seen([], {}, [])
    for folder in sorted(root.iterdir()):
        if folder.name.startswith("."):
            continue
        if not folder.name.isprintable():
            seen.troubles.append(
                f"{folder.name!r} is passed over: a model's name must be printable; rename the directory"
            )
            continue
        try:
            for path in sorted(folder.iterdir()):
                if is_number(path.name) and path.is_dir():
                    seen.places.append(Place(path, folder.name, int(path.name)))
                elif path.name == PIN and path.is_file():
                    seen.pins[folder.name] = _text(path)
                elif _counts(path.name) and path.is_dir():
                    seen.troubles.append(_too_large(f"{folder.name}/{path.name}"))
        except (NotADirectoryError, FileNotFoundError, PermissionError):
            continue  # a file, or gone by now, or nobody's business, as lost+found
    return seen


def places(root: Path) -> list[Place]:
    """All that a server can start with."""
    found = look(root) if root.is_dir() else Seen([], {}, [])
    if not found.places:
        lines = "".join(f"\n  {trouble}" for trouble in found.troubles)
        raise ModelError(
            f"{root} has no models: name a directory that `keras-transformer export` wrote, "
            f"or one that holds NAME/VERSION directories of such{lines}"
        )
    return found.places


def opened(place: Place, settings: EngineSettings) -> Model | str:
    """All that takes its time is done, but for the start of its engine; or why it is refused."""
    try:
        return load_model(place.name, place.version, open_version(place.directory), settings)
    except (VersionError, ModelError, OSError) as error:
        _logger.error("%s %d is refused: %s", place.name, place.version, error)
        return str(error).replace(str(place.directory), f"{place.name}/{place.version}")  # all callers see it
    except Exception:
        _logger.exception("%s %d is refused: it could not be opened", place.name, place.version)
        return "it could not be opened: the log says why"


def open_models(found: Sequence[Place], settings: EngineSettings) -> Models:
    """One bad version keeps no other from serving; with no good one there is nothing to serve."""
    models = Models([])
    for place in found:
        model = opened(place, settings)
        if isinstance(model, str):
            models.refused[place.name, place.version] = model
        else:
            model.engine.start()
            models.serving.append(model)
    if not models.serving:
        reasons = "".join(
            f"\n  {name} {version}: {why}" for (name, version), why in sorted(models.refused.items())
        )
        raise ModelError(f"there is nothing to serve, every version was refused:{reasons}")
    return models


def is_number(name: str) -> bool:
    """Whether a directory of this name is a version."""
    return _counts(name) and int(name) < NUMBERS


def _counts(name: str) -> bool:
    """1, 2, 3, and so on."""
    return name.isascii() and name.isdecimal() and name == str(int(name)) and int(name) > 0


def _too_large(name: str) -> str:
    return f"{name} is passed over: the number of a version must be below {NUMBERS}; give it a lower one"


def _alone(directory: Path) -> Place:
    """A root that is a version: NAME/VERSION, or any name: then it is version 1 of that name."""
    if is_number(directory.name):
        return Place(directory, directory.parent.name, int(directory.name))
    return Place(directory, directory.name, 1)


def _stamp(directory: Path) -> Stamp:
    """Files of a version; nothing below another directory, as a link may lead to the whole disk."""
    return tuple(sorted(islice(_files(directory), MAX_FILES))) if looks_exported(directory) else ()


def _files(directory: Path) -> Iterator[tuple[str, int, int, int]]:
    """Every file with what tells it from another that was put in its place."""
    for folder, _, names in os.walk(directory):
        for name in names:
            path = f"{folder}/{name}"
            try:
                found = os.stat(path)  # noqa: PTH116 (of all files, every few seconds: a Path costs more)
            except OSError:
                yield path, 0, 0, 0
            else:
                yield path, found.st_ino, found.st_mtime_ns, found.st_size


def _text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(PIN_BYTES).decode(errors="replace").strip()
