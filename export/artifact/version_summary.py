"""Facts about an exported version, from its manifest, in the form of training.runs.run_summary."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from export.artifact.manifest import Manifest, open_version
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.runs.run_summary import described, languages, sizes


def version_facts(directory: Path) -> dict[str, Any]:
    """Describe a version, after checking all of its files."""
    version = open_version(directory)
    return {**manifest_facts(version.manifest, version.tokenizer), "files": sizes(directory)}


def manifest_facts(manifest: Manifest, tokenizer: Tokenizer) -> dict[str, Any]:
    """Describe a version by its manifest and its tokenizer."""
    vocabulary, network = manifest.vocabulary, manifest.network
    target = None if vocabulary.joint else vocabulary.target
    return {
        **asdict(manifest),
        "kind": "version",
        "domain": manifest.quality.corpus,
        "pairs": asdict(manifest.quality)["pairs"],
        "languages": languages(manifest.languages.source, manifest.languages.target, tokenizer),
        "network": {
            **described(network, vocabulary.source, target),
            "parameters": manifest.quality.parameters,
        },
    }
