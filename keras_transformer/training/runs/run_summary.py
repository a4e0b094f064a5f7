"""Facts about a model, read from the files of its run or from its .keras file without loading Keras."""

import zipfile
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformer.files import read_json
from keras_transformer.models.architectures import CONFIGURATIONS, Configuration
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.visible import visible_line
from keras_transformer.training.history import best
from keras_transformer.training.recipe import Recipe
from keras_transformer.training.runs.run_directory import Run

JSON: dict[type, str] = {dict: "an object", list: "a list"}  # their names in JSON


class FactsError(ValueError):
    """Error of a file that does not describe a translation model."""


def facts(path: Path) -> dict[str, Any]:
    """Describe a run directory, finished or not, or a .keras file.

    Args:
        path: The directory or the file.

    Returns:
        Facts as JSON values; unknown ones are None.

    Raises:
        FactsError: If the path does not hold a translation model, or is damaged.
    """
    return _of_run(Run(path)) if path.is_dir() else _of_file(path)


def _of_run(run: Run) -> dict[str, Any]:
    about = run.about()
    cleaning, recipe = (_read(run, f"{name}.json", dict) for name in ("cleaning", "recipe"))
    settled = None if recipe is None else _settled(run, recipe)
    history = _read(run, "history.json", list) or []
    for scores in history:
        _check(run, "history.json", scores, "step", "bleu", "loss", "accuracy")
    if cleaning is not None:
        _check(run, "cleaning.json", cleaning, "read", "kept")
    step = history[-1]["step"] if history else 0
    pretrained = "imported" in about or ("from" in about and run.tokenizer.exists())
    tokenizer = Tokenizer.load(run.tokenizer) if pretrained else None
    if run.model.is_file():
        network = _network(run.model, archived(run.model))
    elif settled is not None and settled.preset is None:
        network = _network(run.initial, archived(run.initial))
    elif settled is not None:
        tokenizer = Tokenizer.load(run.tokenizer)
        target = None if tokenizer.joint else tokenizer.target_size
        network = described(settled.network(), tokenizer.source_size, target)
    else:
        network = None
    return {
        "kind": "run",
        "state": "imported" if "imported" in about else _state(settled, history),
        "step": step,
        "languages": languages(about["source_lang"], about["target_lang"], tokenizer),
        "domain": visible_line(domain_of(about)),
        "from": about.get("from"),
        "pairs": cleaning and {name: cleaning[name] for name in ("read", "kept")},
        "network": network,
        "scores": best(history),
        "recipe": settled and settled.as_dict(),
        "versions": about.get("versions"),
        "files": sizes(run.path),
    }


def languages(source: str | None, target: str | None, tokenizer: Tokenizer | None) -> dict[str, Any]:
    """Return the languages of a model, with the codes of its targets if it has several."""
    targets = tokenizer.target_languages if tokenizer else ()
    return {"source": source, "target": target, **({"targets": list(targets)} if targets else {})}


def _settled(run: Run, recipe: dict[str, Any]) -> Recipe:
    try:
        return Recipe.from_run(recipe)
    except (ValueError, TypeError) as error:
        raise FactsError(f"{run.path / 'recipe.json'} is damaged: {error}") from error


def _state(recipe: Recipe | None, history: list[dict[str, float]]) -> str:
    if recipe is None:
        return "begun"
    return "finished" if recipe.is_over(history) else "unfinished"


def _of_file(path: Path) -> dict[str, Any]:
    archive = archived(path)
    try:
        tokenizer = archive.config["tokenizer"] or {}
        languages = {side: tokenizer.get(f"{side}_lang") or None for side in ("source", "target")}
        versions = {"keras": str(archive.metadata["keras_version"])}
    except (KeyError, TypeError, AttributeError) as error:
        raise no_description(path, error) from error
    return {
        "kind": "model",
        "state": None,
        "step": None,
        "languages": languages,
        "domain": None,
        "pairs": None,
        "network": _network(path, archive),
        "scores": None,
        "recipe": None,
        "versions": versions,
        "files": {path.name: path.stat().st_size},
    }


class Archive(NamedTuple):
    """The configuration of the model in a .keras file, and Keras' metadata of the file."""

    config: dict[str, Any]
    metadata: dict[str, Any]
    network_class: type[Configuration]


def archived(path: Path) -> Archive:
    """Read a .keras file without Keras.

    Raises:
        FactsError: If the file is damaged or contains another model.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            model, metadata = (read_json(archive.read(f"{name}.json")) for name in ("config", "metadata"))
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise FactsError(f"{path} is not a .keras file, or is damaged: {error}.") from error
    name = model.get("class_name") if isinstance(model, dict) else None
    if name not in CONFIGURATIONS:
        raise FactsError(f"{path} holds a {name}, not a {' or a '.join(CONFIGURATIONS)}.")
    return Archive(model["config"], metadata, CONFIGURATIONS[name])


def _network(path: Path, archive: Archive) -> dict[str, Any]:
    config = archive.config
    try:
        network = archive.network_class.from_dict(config["network"])
        return described(network, config["source_vocabulary"], config["target_vocabulary"])
    except (KeyError, TypeError, ValueError) as error:
        raise no_description(path, error) from error


def no_description(path: Path, error: Exception) -> FactsError:
    """Return the error of a model file whose config cannot be read."""
    return FactsError(f"{path} is damaged: its config describes no translation model ({error}).")


def described(
    network: Configuration, source_vocabulary: int, target_vocabulary: int | None
) -> dict[str, Any]:
    """Describe a network: its fields, its preset, its vocabularies and the number of its parameters."""
    return {
        "architecture": network.architecture,
        "preset": network.preset,
        **network.as_dict(),
        "source_vocabulary": source_vocabulary,
        "target_vocabulary": target_vocabulary or source_vocabulary,
        "joint": target_vocabulary is None,
        "parameters": network.parameters(source_vocabulary, target_vocabulary),
    }


def domain_of(about: dict[str, Any]) -> str:
    """Return what a run learned from: the phrasebook, or the file names without their private directories."""
    if "imported" in about:
        return f"imported from {about['imported']}"
    corpus = about["corpus"]
    if "distilled" in about:
        domain = about["distilled"]
    elif corpus["phrasebook"]:
        domain = f"the phrasebook {corpus['phrasebook']}"
    else:
        paths = [*(corpus["pairs"] or []), *(corpus["source"] or []), *(corpus["target"] or [])]
        domain = ", ".join(Path(path).name for path in paths)
    before = about.get("from", {}).get("domain")
    return f"{domain}, after {before}" if before else domain


def sizes(directory: Path) -> dict[str, int]:
    """Return the bytes of each entry of a directory, for a subdirectory those of its files."""
    return {
        entry.name: sum(file.stat().st_size for file in [entry, *entry.rglob("*")] if file.is_file())
        for entry in sorted(directory.iterdir())
        if not entry.name.startswith(".")
    }


def _check(run: Run, file: str, numbers: Any, *names: str) -> None:
    """Raise FactsError unless there are numbers of these names."""
    values = numbers if isinstance(numbers, dict) else {}
    lacking = [name for name in names if not isinstance(values.get(name), int | float)]
    if lacking:
        raise FactsError(
            f"{run.path / file} is damaged: in {numbers!r:.40} there is no number {', '.join(lacking)}."
        )


def _read(run: Run, name: str, kind: type) -> Any:
    """Read a JSON file of a run, or return None if it is not written yet."""
    try:
        content = run.read(name)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise FactsError(f"{run.path / name} is damaged: {error}.") from error
    if not isinstance(content, kind):
        raise FactsError(f"{run.path / name} is damaged: it holds {content!r:.40}, not {JSON[kind]}.")
    return content
