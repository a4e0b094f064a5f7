"""The facts of an exported version, from its manifest, in the form of training.run_summary."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from export.artifact.manifest import open_version
from keras_transformer.training.run_summary import described, sizes


def version_facts(directory: Path) -> dict[str, Any]:
    """Describe a version, after checking all of its files."""
    manifest = open_version(directory).manifest
    vocabulary, network = manifest.vocabulary, manifest.network
    target = None if vocabulary.joint else vocabulary.target
    return {
        **asdict(manifest),
        "kind": "version",
        "domain": manifest.quality.corpus,
        "pairs": asdict(manifest.quality)["pairs"],
        "network": described(network, vocabulary.source, target),
        "files": sizes(directory),
    }
