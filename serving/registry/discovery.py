"""What lies on the disk: NAME/VERSION directories, the pins beside them, and how they are opened."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from export.artifact.checksums import TooManyEntriesError, entries, open_regular
from export.artifact.manifest import VersionError, looks_exported, open_version
from serving.registry.registry import Registry
from serving.registry.served_version import EngineSettings, ModelError, ServedVersion, load_model
from serving.registry.trial import reason, try_version

_logger = logging.getLogger(__name__)

PIN = "default"  # NAME/default holds the number of the version that is to be the default
PIN_BYTES = 64  # of it that are read
NUMBERS = 2**64  # of versions: what the wire can carry

Stamp = tuple[tuple[str, int, int, int], ...]


class VersionLocation:
    """Where a version lies, what it is called, and by what a change of it is known."""

    def __init__(self, path: Path, name: str, version: int) -> None:
        """The path may be a link, or lead through some: once they lead elsewhere the version has changed."""
        self.directory = path.resolve()
        self.name = name
        self.version = version
        self.stamp = _stamp(self.directory)


class Scan(NamedTuple):
    """A look at a root."""

    places: list[VersionLocation]
    pins: dict[str, str]  # what is in the files, which may be anything
    troubles: list[str]  # what is passed over, and why


def look(root: Path) -> Scan:
    """NAME/VERSION directories, or the one that the root is itself; or an OSError: nobody knows."""
    if looks_exported(root):
        place = _alone(root.resolve())
        return Scan([place], {}, []) if place.name.isprintable() else Scan([], {}, [_unprintable(place.name)])
    seen = Scan([], {}, [])
    for folder in sorted(root.iterdir()):
        if folder.name.startswith("."):
            continue
        if not folder.name.isprintable():
            seen.troubles.append(_unprintable(folder.name))
            continue
        try:
            for path in sorted(folder.iterdir()):
                if is_number(path.name) and path.is_dir():
                    seen.places.append(VersionLocation(path, folder.name, int(path.name)))
                elif path.name == PIN and path.is_file():
                    seen.pins[folder.name] = _text(path)
                elif _counts(path.name) and path.is_dir():
                    seen.troubles.append(_too_large(f"{folder.name}/{path.name}"))
        except (NotADirectoryError, FileNotFoundError, PermissionError):
            continue  # a file, or gone by now, or nobody's business, as lost+found
    seen.places.sort(key=lambda place: (place.name, place.version))
    return seen


def places(root: Path) -> list[VersionLocation]:
    """All that a server can start with."""
    found = look(root) if root.is_dir() else Scan([], {}, [])
    if not found.places:
        lines = "".join(f"\n  {trouble}" for trouble in found.troubles)
        raise ModelError(
            f"{root} has no models: name a directory that `keras-transformer export` wrote, "
            f"or one that holds NAME/VERSION directories of such{lines}"
        )
    return found.places


def opened(place: VersionLocation, settings: EngineSettings) -> ServedVersion | str:
    """Open a version that passes its trial, up to the start of its engine.

    Args:
        place: where the version lies.
        settings: how it is decoded, and the limits of its trial.

    Returns:
        The model, or why the version is refused: a line for everyone.
    """
    try:
        passed = try_version(place.directory, settings)
        version = open_version(place.directory)
        if version.manifest.digest != passed:
            raise ModelError("it changed while it was opened; it is tried again once it stays the same")
        return load_model(place.name, place.version, version, settings)
    except (VersionError, ModelError, OSError) as error:
        why = reason(error, place.directory)
        _logger.error("%s %d in %s is refused: %s", place.name, place.version, place.directory, why)
        return why
    except Exception:
        _logger.exception("%s %d is refused: it could not be opened", place.name, place.version)
        return "it could not be opened: the log says why"


def open_models(found: Sequence[VersionLocation], settings: EngineSettings) -> Registry:
    """One bad version keeps no other from serving; with no good one there is nothing to serve."""
    models = Registry([])
    for place in found:
        model = opened(place, settings)
        if isinstance(model, str):
            models.refused[place.name, place.version] = model
        else:
            model.engine.start()
            models.add(model)
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


def _unprintable(name: str) -> str:
    return f"{name!a} is passed over: the name of a model must have printable characters only; rename it"


def _alone(directory: Path) -> VersionLocation:
    """A root that is a version: NAME/VERSION, or any name: then it is version 1 of that name."""
    if is_number(directory.name):
        return VersionLocation(directory, directory.parent.name, int(directory.name))
    return VersionLocation(directory, directory.name, 1)


def _stamp(directory: Path) -> Stamp:
    """Of a directory with more files than a version has: none, so that it is opened, and refused, once."""
    try:
        return tuple(sorted(_files(directory)))
    except TooManyEntriesError:
        return ()


def _files(directory: Path) -> Iterator[tuple[str, int, int, int]]:
    """Every file with what tells it from another that was put in its place."""
    for entry in entries(directory):
        try:
            if not entry.is_dir():
                found = entry.stat()
                yield entry.path, found.st_ino, found.st_mtime_ns, found.st_size
        except OSError:
            yield entry.path, 0, 0, 0


def _text(path: Path) -> str:
    with open_regular(path) as file:
        return file.read(PIN_BYTES).decode(errors="replace").strip()
