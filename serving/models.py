"""All that a server answers with: NAME/VERSION directories, each version with an engine of its own."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from export.manifest import VersionError, looks_exported, open_version
from serving.errors import InvalidError, UnknownModelError
from serving.model import EngineSettings, Model, ModelError, open_model

_logger = logging.getLogger(__name__)


class Place:
    """Where a version lies, and what it is called."""

    def __init__(self, directory: Path) -> None:
        """NAME/VERSION, or any name: then it is version 1 of that name."""
        path = directory.resolve()
        numbered = _is_number(path.name)
        self.directory = directory
        self.name = path.parent.name if numbered else path.name
        self.version = int(path.name) if numbered else 1


@dataclass
class Models:
    """Those that answer, and those that were refused."""

    serving: list[Model]
    refused: dict[tuple[str, int], str] = field(default_factory=dict)  # and why

    @property
    def names(self) -> list[str]:
        """Of those that answer."""
        return sorted({model.name for model in self.serving})

    def versions(self, name: str) -> list[Model]:
        """From the lowest to the highest."""
        return sorted((model for model in self.serving if model.name == name), key=lambda each: each.version)

    def find(self, name: str, version: int) -> Model:
        """No name is the only one there is, version 0 the highest."""
        names = self.names
        if not name and len(names) > 1:
            raise InvalidError("options.model", f"there are several models, name one: {', '.join(names)}")
        found = self.versions(name or names[0])
        if not found:
            raise UnknownModelError(f"there is no model {name!r}; there is {', '.join(names)}")
        for model in found:
            if version in (0, model.version) and (version or model is found[-1]):
                return model
        there = ", ".join(str(model.version) for model in found)
        refused = "; it was refused" if (found[0].name, version) in self.refused else ""
        raise UnknownModelError(f"{found[0].name} has no version {version}, it has {there}{refused}")

    def stop(self, timeout: float) -> None:
        """All engines end without finishing; a step that takes longer is not waited for."""
        for model in self.serving:
            model.engine.stop(finish=False, timeout=timeout)


def places(root: Path) -> list[Place]:
    """A root's NAME/VERSION directories, or the one that is a version itself."""
    if looks_exported(root):
        return [Place(root)]
    found = [
        Place(directory)
        for directory in sorted(root.glob("[!.]*/[0-9]*"))
        if directory.is_dir() and _is_number(directory.name)
    ]
    if not found:
        raise ModelError(
            f"{root} has no models: name a directory that `keras-transformer export` wrote, "
            "or one that holds NAME/VERSION directories of such"
        )
    return found


def open_models(found: Sequence[Place], settings: EngineSettings) -> Models:
    """One bad version keeps no other from serving; with no good one there is nothing to serve."""
    models = Models([])
    for place in found:
        try:
            version = open_version(place.directory)
            models.serving.append(open_model(place.name, place.version, version, settings))
        except (VersionError, ModelError) as error:
            _logger.error("%s %d is refused: %s", place.name, place.version, error)
            models.refused[place.name, place.version] = str(error)
    if not models.serving:
        reasons = "".join(
            f"\n  {name} {version}: {why}" for (name, version), why in sorted(models.refused.items())
        )
        raise ModelError(f"there is nothing to serve, every version was refused:{reasons}")
    return models


def listed(models: Models) -> Iterator[tuple[str, list[tuple[int, Model | str]]]]:
    """Each name with its versions, from the lowest: what answers, or why it does not."""
    every: dict[str, dict[int, Model | str]] = {}
    for model in models.serving:
        every.setdefault(model.name, {})[model.version] = model
    for (name, version), why in models.refused.items():
        every.setdefault(name, {})[version] = why
    for name, versions in sorted(every.items()):
        yield name, sorted(versions.items())


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdecimal() and name == str(int(name)) and int(name) > 0
