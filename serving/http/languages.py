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
        for source, target in _pairs(model):
            if source and target:
                targets.setdefault(source, set()).add(target)
    return [
        {"code": code, "name": _names().get(code.replace("-", "_"), code), "targets": sorted(found)}
        for code, found in sorted(targets.items())
    ]


def choose(models: Registry, source: str, target: str, name: str, version: int) -> ServedVersion:
    """Return the version of the named model, or of the only one between two languages.

    Args:
        models: What serves.
        source: Code of a language; empty is any.
        target: Code of a language; empty is any.
        name: Of the model; empty is any.
        version: Its number; 0 is the default of each model.

    Raises:
        InvalidError: No version, or several, translate between the languages.
        UnknownModelError: There is no such model or version.
    """
    there = [models.find(name, version)] if name else _numbered(models, version)
    found = [model for model in there if _translates(model, source, target)]
    if not found:
        known = {pair for model in there for pair in _pairs(model)}
        pairs = ", ".join(sorted(f"{each or 'unknown'} to {other or 'unknown'}" for each, other in known))
        raise InvalidError(
            "source, target",
            f"there is no translation from {source or 'any'} to {target or 'any'}"
            f"{f' in version {version}' if version else ''}; there is {pairs}",
        )
    sources = sorted({model.tokenizer.source_lang for model in found})
    if not source and len(sources) > 1:
        raise InvalidError("source", f"it is not found out here, say which: {', '.join(sources)}")
    if len(found) > 1:
        raise InvalidError("model", f"there are several, name one: {', '.join(each.name for each in found)}")
    return found[0] if name else models.find(found[0].name, version)


def _numbered(models: Registry, version: int) -> list[ServedVersion]:
    """Return the versions of this number; if there is none, the defaults, to name one in the refusal."""
    return [model for model in models.serving if model.version == version] or models.available()


def _pairs(model: ServedVersion) -> list[tuple[str, str]]:
    """Return source and target language, once for each target of a model that has several."""
    source, target = model.tokenizer.source_lang, model.tokenizer.target_lang
    return [(source, each) for each in model.tokenizer.target_languages or [target]]


def _translates(model: ServedVersion, source: str, target: str) -> bool:
    return any(source in ("", each) and target in ("", other) for each, other in _pairs(model))
