"""Discovery of versions on the disk: NAME/VERSION directories, pins beside them, and opening of versions."""

import errno
import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from export.artifact.checksums import TooManyEntriesError, entries, open_regular
from export.artifact.manifest import VersionError, looks_exported, open_version, read_manifest
from serving.registry.registry import Registry
from serving.registry.served_version import EngineSettings, ModelError, ServedVersion, load_model
from serving.registry.trial import TrialKilledError, reason, try_version

_logger = logging.getLogger(__name__)

PIN = "default"  # NAME/default holds the number of the version that should be the default
PIN_BYTES = 64  # that are read of it
NUMBERS = 2**64  # versions are below it, as the wire has 64 bits
NO_MODEL = (  # why an entry of the root holds no versions: a file, gone by now, not ours, a link to itself
    errno.ENOTDIR,
    errno.ENOENT,
    errno.EACCES,
    errno.ELOOP,
)

Stamp = tuple[tuple[str, int, int, int], ...]


class VersionLocation:
    """Version on the disk.

    Args:
        path: Its directory. If it is a link, the version has changed when the link leads elsewhere.
        name: Name of the model.
        version: Number of the version.

    Attributes:
        stamp: Value that changes with the files.
    """

    def __init__(self, path: Path, name: str, version: int) -> None:
        self.directory = path.resolve()
        self.name = name
        self.version = version
        self.stamp = _stamp(self.directory)


class Scan(NamedTuple):
    """Content of a root directory.

    Attributes:
        versions: Versions by name and number.
        pins: Content of the pin files, which may be anything.
        problems: Entries that are ignored, with the reasons.
    """

    versions: list[VersionLocation]
    pins: dict[str, str]
    problems: list[str]


class TemporaryRefusal(str):
    """Reason of a refusal that may disappear by itself, so the version is tried again later."""


def scan(root: Path) -> Scan:
    """Return the NAME/VERSION directories of a root, or the version that the root itself is.

    Raises:
        OSError: If the root cannot be read.
    """
    if looks_exported(root):
        only = _alone(root.resolve())
        return Scan([only], {}, []) if only.name.isprintable() else Scan([], {}, [_unprintable(only.name)])
    result = Scan([], {}, [])
    for folder in sorted(root.iterdir()):
        if folder.name.startswith("."):
            continue
        if not folder.name.isprintable():
            result.problems.append(_unprintable(folder.name))
            continue
        try:
            for path in sorted(folder.iterdir()):
                if is_number(path.name) and path.is_dir():
                    result.versions.append(VersionLocation(path, folder.name, int(path.name)))
                elif path.name == PIN:
                    result.pins[folder.name] = _pin(path)
                elif _counts(path.name) and path.is_dir():
                    result.problems.append(_too_large(f"{folder.name}/{path.name}"))
        except OSError as error:
            if error.errno not in NO_MODEL:
                raise
    result.versions.sort(key=lambda location: (location.name, location.version))
    return result


def find_versions(root: Path) -> list[VersionLocation]:
    """Return the versions with which a server can start.

    Raises:
        ModelError: If there is none.
    """
    result = scan(root) if root.is_dir() else Scan([], {}, [])
    if not result.versions:
        lines = "".join(f"\n  {problem}" for problem in result.problems)
        raise ModelError(
            f"{root} has no models; name a directory that `keras-transformer export` wrote, "
            f"or one that holds such directories as NAME/VERSION{lines}"
        )
    return result.versions


def open_checked(location: VersionLocation, settings: EngineSettings) -> ServedVersion | str:
    """Open a version that passes its trial; its engine is not started.

    Args:
        location: The version.
        settings: Settings of its engine, and limits of its trial.

    Returns:
        The version, or the reason of its refusal in one line that everyone may read.
    """
    try:
        read_manifest(location.directory)  # fast, while a trial delays the versions after it
        passed = try_version(location.directory, settings)
        version = open_version(location.directory)
        if version.manifest.digest != passed:
            raise ModelError("it changed while it was opened; it is tried again when it no longer changes")
        return load_model(location.name, location.version, version, settings)
    except (VersionError, ModelError, OSError) as error:
        why = reason(error, location.directory)
        _logger.error("%s %d in %s is refused: %s", location.name, location.version, location.directory, why)
        return TemporaryRefusal(why) if isinstance(error, TrialKilledError) else why
    except Exception:
        _logger.exception("%s %d is refused: it could not be opened", location.name, location.version)
        return "it could not be opened; see the log of the server"


def open_models(versions: Sequence[VersionLocation], settings: EngineSettings) -> Registry:
    """Open versions and start their engines. A refused version does not affect the others.

    Raises:
        ModelError: If every version was refused.
    """
    models = Registry([])
    for location in versions:
        model = open_checked(location, settings)
        if isinstance(model, str):
            models.refused[location.name, location.version] = model
        else:
            model.engine.start()
            models.add(model)
    if not models.serving:
        reasons = "".join(
            f"\n  {name} {version}: {why}" for (name, version), why in sorted(models.refused.items())
        )
        raise ModelError(f"nothing to serve: every version was refused:{reasons}")
    return models


def is_number(name: str) -> bool:
    """Return whether this is the directory name of a version."""
    return _counts(name) and int(name) < NUMBERS


def _counts(name: str) -> bool:
    """Return whether a name is 1, 2, 3, and so on."""
    return name.isascii() and name.isdecimal() and name == str(int(name)) and int(name) > 0


def _too_large(name: str) -> str:
    return f"{name} is ignored: the number of a version must be below {NUMBERS}; give it a lower one"


def _unprintable(name: str) -> str:
    return f"{name!a} is ignored: the name of a model must have printable characters only; rename it"


def _alone(directory: Path) -> VersionLocation:
    """Return the version that a root is: NAME/VERSION, or version 1 of any other name."""
    if is_number(directory.name):
        return VersionLocation(directory, directory.parent.name, int(directory.name))
    return VersionLocation(directory, directory.name, 1)


def _stamp(directory: Path) -> Stamp:
    """Return a value that changes with the files; () for a directory with too many files for a version.

    Such a directory is opened, and refused, once.
    """
    try:
        return tuple(sorted(_files(directory)))
    except TooManyEntriesError:
        return ()


def _files(directory: Path) -> Iterator[tuple[str, int, int, int]]:
    """Yield path, inode, time and size of every file."""
    for entry in entries(directory):
        with suppress(OSError):  # removed meanwhile, or a broken link
            if not entry.is_dir():
                status = entry.stat()
                yield entry.path, status.st_ino, status.st_mtime_ns, status.st_size


def _pin(path: Path) -> str:
    """Return the content of a pin file, or the reason why it cannot be read."""
    try:
        with open_regular(path) as file:
            return file.read(PIN_BYTES).decode(errors="replace").strip()
    except OSError as error:
        return error.strerror or str(error)
