"""The model card of a run, a .keras file or an exported version: README.md as model hubs read it.

It begins with a block of YAML metadata. Every text in the block is a JSON string: "no" stays Norwegian.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from keras_transformer.text.visible import visible, visible_line

UNKNOWN_LICENSE = "unknown"  # a keyword that hubs know
PACKAGE = "keras-transformer-serving"


def model_card(facts: Mapping[str, Any], license: str = UNKNOWN_LICENSE) -> str:  # noqa: A002
    """Write a model card.

    Args:
        facts: As `run_summary.facts` and `version_summary.version_facts` return them.
        license: An identifier that model hubs know, such as apache-2.0.

    Returns:
        The text of README.md.
    """
    languages = [visible_line(facts["languages"][side] or "unknown") for side in ("source", "target")]
    targets = facts["languages"].get("targets") or languages[1:]
    name, domain = "-".join(languages), visible_line(facts["domain"] or "unknown text")
    origin = (
        f"is {domain}" if domain.startswith("imported from ") else f"was trained on {domain}{_pairs(facts)}"
    )
    scores = _scores(facts)
    blocks = [
        "\n".join(["---", *_metadata(name, [languages[0], *targets], domain, scores, license), "---"]),
        f"# {name}",
        f"A translation model from {languages[0]} to {', '.join(targets)}. It {origin}.",
        _table(scores, facts),
        "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in _sizes(facts))]),
        "## Run it",
        "```sh\n" + "\n".join(_commands(facts)) + "\n```",
    ]
    return visible("\n\n".join(filter(None, blocks)) + "\n")


def _metadata(
    name: str,
    languages: list[str],
    domain: str,
    scores: list[dict[str, Any]],
    license: str,  # noqa: A002
) -> Iterable[str]:
    datasets = [_identifier(text) for text in domain.split(", ")]
    metrics = [score["name"].lower() for score in scores]
    lists = {"language": languages, "datasets": datasets, "metrics": metrics}
    yield f"license: {json.dumps(license)}"
    yield 'library_name: "keras"'
    yield 'pipeline_tag: "translation"'
    yield 'tags: ["translation", "keras-transformer"]'
    for key, values in lists.items():
        if values:
            yield f"{key}: {json.dumps(list(dict.fromkeys(values)), ensure_ascii=False)}"
    if scores:
        dataset = {"name": f"held-out sentences of {domain}", "type": datasets[0]}
        results = [
            {"type": score["name"].lower(), "value": round(score["value"], 2), "name": score["name"],
             "args": {"signature": score["signature"]}}
            for score in scores
        ]  # fmt: skip
        result = {"task": {"type": "translation"}, "dataset": dataset, "metrics": results}
        yield "model-index:"
        yield f"- name: {json.dumps(name, ensure_ascii=False)}"
        yield f"  results: {json.dumps([result], ensure_ascii=False)}"


def _identifier(text: str) -> str:
    """Return a name of a data set as hubs allow it: the phrasebook fr-en becomes phrasebook-fr-en."""
    text = re.sub(r"^(after )?(the |imported from )?", "", text)
    return re.sub(r"[^\w.-]+", "-", re.sub(r"=[^=]*$", "", text)).strip("-.") or "unknown"


def _scores(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the metrics with their signatures: of a version all, of a run its held-out BLEU."""
    if facts["kind"] == "version":
        return list(facts["quality"]["scores"])
    if not facts["scores"]:
        return []
    from keras_transformer.evaluation.scores import bleu_signature, tokenization  # noqa: PLC0415

    signature = bleu_signature(tokenization(facts["languages"]["target"] or ""))
    return [{"name": "BLEU", "value": facts["scores"]["bleu"], "signature": signature}]


def _table(scores: list[dict[str, Any]], facts: Mapping[str, Any]) -> str:
    if not scores:
        return ""
    sentences = facts["quality"]["sentences"] if facts["kind"] == "version" else None
    on = f"{sentences:,} golden sentences" if sentences else "the held-out pairs"
    rows = [
        f"| {score['name']} | {score['value']:.2f} | {score['signature'].replace('|', ', ')} |"
        for score in scores
    ]
    return "\n".join([f"| scores on {on} | | sacreBLEU signature |", "|---|---|---|", *rows])


def _pairs(facts: Mapping[str, Any]) -> str:
    return f" ({facts['pairs']['kept']:,} pairs)" if facts["pairs"] else ""


def network_sizes(network: Mapping[str, Any]) -> str:
    """Describe the sizes of a network, as `run_summary.described` has them, in a line."""
    layers = f"{network['encoder_layers']} + {network['decoder_layers']} layers, width {network['width']}"
    if "units" not in network:
        return f"{layers}, inner {network['inner_width']}, {network['num_heads']} heads"
    attention = "additive attention" if network["attention"] else "no attention"
    return f"{network['architecture']}, {layers}, {network['units']} units, {attention}"


def _sizes(facts: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    network = facts["network"]
    if network:
        yield "network", network_sizes(network)
        yield "parameters", f"{network['parameters']:,}"
        yield "vocabulary", f"{network['source_vocabulary']:,} and {network['target_vocabulary']:,} pieces"
    files = facts["files"]
    if facts["kind"] == "version":
        files = {name: size for name, size in facts["quality"]["bytes"].items() if name != "all"}
    for name, size in files.items():
        if facts["kind"] != "run" or name == "model.keras":
            yield f"size of {name}", f"{size / 1e6:.1f} MB"


def _commands(facts: Mapping[str, Any]) -> Iterable[str]:
    if facts["kind"] == "version":
        yield f"pip install '{PACKAGE}[serve]'"
        yield "keras-transformer translate DIR --input text.txt   # DIR is this directory"
        yield "keras-transformer serve DIR"
    else:
        yield f"pip install '{PACKAGE}[layers]'"
        yield "keras-transformer translate RUN --input text.txt   # RUN is this run, or its model.keras"
