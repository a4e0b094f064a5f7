"""Languages of the server, their English names, and the choice of a model between two of them."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from serving.errors import InvalidError
from serving.registry.registry import Registry
from serving.registry.served_version import ServedVersion


@cache
def _names() -> Mapping[str, str]:
    """Return the English names of languages by code. Loading them takes tens of milliseconds."""
    from babel import Locale  # noqa: PLC0415

    return Locale("en").languages


def languages(models: Registry) -> list[dict[str, Any]]:
    """List the languages as LibreTranslate does; models whose languages are unknown are omitted."""
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
    """Return the version of the named model, or of the only model between two languages.

    Args:
        models: The served models.
        source: Code of the source language; "" for any.
        target: Code of the target language; "" for any.
        name: Name of the model; "" for any.
        version: Number of the version; 0 for the default of each model.

    Raises:
        InvalidError: If no version, or several, translate between the languages.
        UnknownModelError: If there is no such model or version.
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
        raise InvalidError("source", f"source is not detected; name one of {', '.join(sources)}")
    if len(found) > 1:
        raise InvalidError(
            "model", f"several models match; name one of {', '.join(each.name for each in found)}"
        )
    return found[0] if name else models.find(found[0].name, version)


def _numbered(models: Registry, version: int) -> list[ServedVersion]:
    """Return the versions with this number; if there is none, the defaults, for the text of the refusal."""
    return [model for model in models.serving if model.version == version] or models.available()


def _pairs(model: ServedVersion) -> list[tuple[str, str]]:
    """Return source and target language, once for each target of a model that has several."""
    source, target = model.tokenizer.source_lang, model.tokenizer.target_lang
    return [(source, each) for each in model.tokenizer.target_languages or [target]]


def _translates(model: ServedVersion, source: str, target: str) -> bool:
    return any(source in ("", each) and target in ("", other) for each, other in _pairs(model))
