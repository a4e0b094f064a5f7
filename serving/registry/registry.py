"""All that a server answers with: versions that serve, those that were refused, and what is the default."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from serving.errors import ClosedError, InvalidError, UnknownModelError
from serving.limits import check_name
from serving.registry.served_version import ServedVersion


@dataclass
class Registry:
    """Each version has an engine of its own. Changed in the event loop alone."""

    serving: list[ServedVersion]
    refused: dict[tuple[str, int], str] = field(default_factory=dict)  # and why
    pins: dict[str, int] = field(default_factory=dict)  # the default that somebody wants for a name
    leaving: list[ServedVersion] = field(default_factory=list)  # nobody new finds them

    @property
    def names(self) -> list[str]:
        """Of those that answer."""
        return sorted({model.name for model in self.serving})

    def answering(self) -> list[str]:
        """The same, where somebody must be there to answer; or ClosedError."""
        if not self.serving:
            raise ClosedError("no model is served at the moment: repeat it later")
        return self.names

    @property
    def healthy(self) -> bool:
        """Whether there is something to answer with, and every default does."""
        return bool(self.serving) and all(self.default(name).engine.alive for name in self.names)

    def versions(self, name: str) -> list[ServedVersion]:
        """From the lowest to the highest."""
        return sorted((model for model in self.serving if model.name == name), key=lambda each: each.version)

    def default(self, name: str) -> ServedVersion:
        """Of a name that answers: the pinned version, if it is there, or else the highest."""
        return self._default(self.versions(name))

    def find(self, name: str, version: int) -> ServedVersion:
        """No name is the only one there is, version 0 the default."""
        check_name("options.model", name, "a model's name")
        names = self.answering()
        if not name and len(names) > 1:
            raise InvalidError("options.model", f"there are several models, name one: {', '.join(names)}")
        found = self.versions(name or names[0])
        if not found:
            raise UnknownModelError(f"there is no model {name!r}; there is {', '.join(names)}")
        if not version:
            return self._default(found)
        for model in found:
            if model.version == version:
                return model
        there = ", ".join(str(model.version) for model in found)
        refused = "; it was refused" if (found[0].name, version) in self.refused else ""
        raise UnknownModelError(f"{found[0].name} has no version {version}, it has {there}{refused}")

    def _default(self, versions: list[ServedVersion]) -> ServedVersion:
        pinned = self.pins.get(versions[0].name)
        return next((model for model in versions if model.version == pinned), versions[-1])

    def add(self, model: ServedVersion) -> ServedVersion | None:
        """From now on requests find it. -> the one of the same number that leaves for it."""
        self.refused.pop((model.name, model.version), None)
        former = self.remove(model.name, model.version)
        self.serving.append(model)
        return former

    def remove(self, name: str, version: int) -> ServedVersion | None:
        """Requests do not find it any more. -> the one that leaves once those that have found it are done."""
        for model in self.serving:
            if (model.name, model.version) == (name, version):
                self.serving.remove(model)
                self.leaving.append(model)
                return model
        return None

    def stop(self, timeout: float) -> None:
        """All engines end without finishing; a step that takes longer is not waited for."""
        for model in [*self.serving, *self.leaving]:
            model.engine.stop(finish=False, timeout=timeout)


def listed(models: Registry) -> Iterator[tuple[str, list[tuple[int, ServedVersion | str]]]]:
    """Each name with its versions, from the lowest: what answers, or why it does not."""
    every: dict[str, dict[int, ServedVersion | str]] = {}
    for (name, version), why in models.refused.items():
        every.setdefault(name, {})[version] = why
    for model in models.serving:  # one that was changed on the disk, and refused, goes on as it was
        every.setdefault(model.name, {})[model.version] = model
    for name, versions in sorted(every.items()):
        yield name, sorted(versions.items())
