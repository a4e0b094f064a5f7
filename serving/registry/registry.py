"""Registry of a server: the versions that serve, the refused ones, and the defaults."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from serving.errors import ClosedError, InvalidError, UnknownModelError
from serving.limits import check_name
from serving.registry.served_version import ServedVersion

Key = tuple[str, int]


@dataclass
class Registry:
    """Versions of a server, each with its own engine. It may be changed in the event loop only.

    Attributes:
        serving: Versions that new requests can find; changed by `add` and `remove`.
        refused: Reasons of refused versions, by name and version.
        pins: Default version of each name, if it is set; changed by `pin`.
        leaving: Versions that new requests cannot find, but others still use.
        defaults: Default version of each served name, in the order of the names.
    """

    serving: list[ServedVersion]
    refused: dict[Key, str] = field(default_factory=dict)
    pins: Mapping[str, int] = field(default_factory=dict)
    leaving: list[ServedVersion] = field(default_factory=list)
    defaults: dict[str, ServedVersion] = field(init=False)
    _index: dict[Key, ServedVersion] = field(init=False)

    def __post_init__(self) -> None:
        self._update()

    @property
    def healthy(self) -> bool:
        """Whether a version serves, and the engines of all defaults run."""
        return bool(self.defaults) and all(model.engine.alive for model in self.defaults.values())

    def find(self, name: str, version: int) -> ServedVersion:
        """Return a version that serves.

        Args:
            name: Name of the model; "" for the only one.
            version: Number of the version; 0 for the default.

        Raises:
            ClosedError: If no model is served at the moment.
            InvalidError: If there are several models and no name, or the name is too long.
            UnknownModelError: If there is no such model or version.
        """
        model = self._index.get((name, version))
        if model is None:
            self._refuse(name, version)
        return model

    def available(self) -> list[ServedVersion]:
        """Return the default version of each model.

        Raises:
            ClosedError: If no model is served at the moment.
        """
        if not self.defaults:
            raise ClosedError("no model is served at the moment. Repeat the request later.")
        return list(self.defaults.values())

    def add(self, model: ServedVersion) -> ServedVersion | None:
        """Make a version visible to new requests.

        Returns:
            The version with the same number that it replaces, if there is one.
        """
        self.refused.pop((model.name, model.version), None)
        former = self.remove(model.name, model.version)
        self.serving.append(model)
        self._update()
        return former

    def remove(self, name: str, version: int) -> ServedVersion | None:
        """Hide a version from new requests.

        Returns:
            The version, which is removed when no request uses it any more.
        """
        model = self._index.get((name, version))
        if model is not None:
            self.serving.remove(model)
            self.leaving.append(model)
            self._update()
        return model

    def pin(self, pins: Mapping[str, int]) -> None:
        """Set the default version of each name; without a pin it is the highest."""
        self.pins = pins
        self._update()

    def stop(self, timeout: float) -> None:
        """Stop all engines without finishing requests, and wait at most `timeout` seconds for each."""
        for model in [*self.serving, *self.leaving]:
            model.engine.stop(finish=False, timeout=timeout)

    def _update(self) -> None:
        """Compute the index of `find`: each version, the defaults as version 0, an only name as ""."""
        index = {(model.name, model.version): model for model in self.serving}
        self.defaults = {}
        for name, version in sorted(index):  # the highest is the last
            self.defaults[name] = index.get((name, self.pins.get(name, 0)), index[name, version])
        index |= {(name, 0): model for name, model in self.defaults.items()}
        if len(self.defaults) == 1:
            index |= {("", version): model for (_, version), model in index.items()}
        self._index = index

    def _refuse(self, name: str, version: int) -> NoReturn:
        """Raise the error of a version that is not found."""
        check_name("options.model", name, "the name of a model")
        models = self.available()
        names = ", ".join(self.defaults)
        if not name and len(models) > 1:
            raise InvalidError("options.model", f"options.model is empty. Name one of {names}.")
        name = name or models[0].name
        if name not in self.defaults:
            raise UnknownModelError(f"there is no model {name!r}. Name one of {names}.")
        versions = sorted(model.version for model in self.serving if model.name == name)
        state = "was refused" if (name, version) in self.refused else "does not exist"
        raise UnknownModelError(
            f"version {version} of {name} {state}. Name one of {', '.join(map(str, versions))}."
        )


def listed(models: Registry) -> Iterator[tuple[str, list[tuple[int, ServedVersion | str]]]]:
    """Yield each name with its versions in ascending order: the version, or the reason of its refusal."""
    every: dict[str, dict[int, ServedVersion | str]] = {}
    for (name, version), why in models.refused.items():
        every.setdefault(name, {})[version] = why
    for model in models.serving:  # a version that was changed on the disk and refused still serves
        every.setdefault(model.name, {})[model.version] = model
    for name, versions in sorted(every.items()):
        yield name, sorted(versions.items())
