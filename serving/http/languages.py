"""Which languages there are, what they are called, and which model translates between two of them."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from serving.errors import InvalidError
from serving.registry.registry import Registry
from serving.registry.served_version import ServedVersion


@cache
def _names() -> Mapping[str, str]:
    """Return the English names of languages by code. Reading them takes tens of milliseconds."""
    from babel import Locale  # noqa: PLC0415

    return Locale("en").languages


def languages(models: Registry) -> list[dict[str, Any]]:
    """As LibreTranslate lists them; a model of which nobody has said its languages is in none."""
    targets: dict[str, set[str]] = {}
    for model in models.defaults.values():
        source, target = _pair(model)
        if source and target:
            targets.setdefault(source, set()).add(target)
    return [
        {"code": code, "name": _names().get(code.replace("-", "_"), code), "targets": sorted(found)}
        for code, found in sorted(targets.items())
    ]


def choose(models: Registry, source: str, target: str, name: str, version: int) -> ServedVersion:
    """The one that is named, or the only one between these languages; an empty language is any."""
    there = [models.find(name, version)] if name else models.available()
    found = [model for model in there if source in ("", _pair(model)[0]) and target in ("", _pair(model)[1])]
    if not found:
        pairs = ", ".join(
            sorted({f"{each or 'unknown'} to {other or 'unknown'}" for each, other in map(_pair, there)})
        )
        raise InvalidError(
            "source, target",
            f"there is no translation from {source or 'any'} to {target or 'any'}; there is {pairs}",
        )
    if not source and len({_pair(model)[0] for model in found}) > 1:
        raise InvalidError(
            "source",
            f"it is not found out here, say which: {', '.join(sorted({_pair(each)[0] for each in found}))}",
        )
    if len(found) > 1:
        raise InvalidError("model", f"there are several, name one: {', '.join(each.name for each in found)}")
    return found[0] if name else models.find(found[0].name, version)


def _pair(model: ServedVersion) -> tuple[str, str]:
    return model.tokenizer.source_lang, model.tokenizer.target_lang
