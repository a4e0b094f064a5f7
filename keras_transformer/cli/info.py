"""Show the languages, domain, network, scores, versions and files of a model.

examples:
  keras-transformer info build/run
  keras-transformer info model.keras --json
  keras-transformer info models/fr-en/1
  keras-transformer info build/run --card > README.md
"""

import argparse
import json
from pathlib import Path
from typing import Any

from keras_transformer.cli import CommandError, failures
from keras_transformer.cli._models import is_model_file, is_run, is_version, refuse_if_another_is_near
from keras_transformer.text.visible import visible


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument(
        "model", type=Path, metavar="MODEL", help="a run directory, a .keras file or an exported version"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object")
    form.add_argument(
        "--card", action="store_true", help="print the model card: README.md, as model hubs read it"
    )


def run(arguments: argparse.Namespace) -> None:
    """Print the facts about the model."""
    from export.artifact.manifest import looks_exported
    from export.artifact.version_summary import version_facts
    from keras_transformer.training.runs.run_summary import facts

    refuse_if_another_is_near(arguments.model, is_run, is_model_file, is_version)
    if not arguments.model.exists():
        raise CommandError(f"{arguments.model} does not exist: name a run directory or a .keras file.")
    with failures(ValueError):  # not a run or a model, or damaged
        summary = (version_facts if looks_exported(arguments.model) else facts)(arguments.model)
    if arguments.card:
        print(_card(arguments.model, summary), end="")
    elif arguments.json:
        print(visible(json.dumps({"model": str(arguments.model), **summary}, ensure_ascii=False)))
    else:
        print(visible("\n".join([f"{arguments.model}: {_headline(summary)}", *_lines(summary)])))
    if summary["kind"] == "run" and summary["scores"] and "model.keras" not in summary["files"]:
        raise CommandError(
            f"there is no model in {arguments.model}: {arguments.model / 'model.keras'} is missing; "
            "restore it from an intact copy, or train again."
        )


def _card(path: Path, summary: dict[str, Any]) -> str:
    """Return the card of an exported version, which was checked with it, or write one."""
    from keras_transformer.training.runs.model_card import model_card

    if summary["kind"] == "version" and (path / "README.md").exists():
        return (path / "README.md").read_text("utf-8")
    return model_card(summary)


def _headline(summary: dict[str, Any]) -> str:
    if summary["kind"] == "model":
        return "a translation model"
    if summary["kind"] == "version":
        return f"an exported version, made {summary['created']}"
    if summary["state"] == "imported":
        return "a run, imported"
    if summary["state"] == "begun":
        return "a run that is not prepared yet"
    return f"a run, {summary['state']}, at step {summary['step']:,} of {summary['recipe']['steps']:,}"


def _lines(summary: dict[str, Any]) -> list[str]:
    source, target = (summary["languages"][side] or "unknown" for side in ("source", "target"))
    targets = summary["languages"].get("targets")
    rows = {
        "languages": f"{source} to {target}",
        **({"targets": ", ".join(targets)} if targets else {}),
        "domain": _domain(summary),
        **({"from": _from(summary["from"])} if summary.get("from") else {}),
        "network": summary["network"] and _network(summary["network"]),
        "vocabulary": summary["network"] and _vocabulary(summary["network"]),
        **(_exported(summary) if summary["kind"] == "version" else _trained(summary)),
        "versions": ", ".join(f"{name} {version}" for name, version in (summary["versions"] or {}).items()),
        "size": _bytes(sum(summary["files"].values())),
    }
    lines = [f"  {name:<12} {value or 'not known yet'}" for name, value in rows.items()]
    return lines + [f"    {name:<16} {_bytes(size):>10}" for name, size in summary["files"].items()]


def _trained(summary: dict[str, Any]) -> dict[str, str | None]:
    """Return the rows of a run or a .keras file."""
    return {**_typed(summary["recipe"] or {}), "scores": summary["scores"] and _scores(summary["scores"])}


def _typed(recipe: dict[str, Any]) -> dict[str, str | None]:
    from keras_transformer.training.data.typed import KINDS

    kinds = (f"{recipe[kind]:.2g} {kind.replace('_', ' ')}" for kind in KINDS if recipe.get(kind))
    shares = ", ".join(kinds)
    return {"typed": f"shares of the sentences: {shares}"} if shares else {}


def _exported(summary: dict[str, Any]) -> dict[str, str | None]:
    """Return the rows of an exported version."""
    limits, quality = summary["limits"], summary["quality"]
    formats = (f"{name} {' and '.join(precisions)}" for name, precisions in summary["formats"].items())
    scores = (f"{score['name']} {score['value']:.2f}" for score in quality["scores"])
    speeds = (
        f"{row['runtime']} {row['precision']}{_beam(row)} {row['sentences_per_second']:,.0f}"
        for row in quality["agreement"]
    )
    beam = quality["beam"]
    machine = quality["machine"]
    return {
        "formats": ", ".join(formats),
        "limits": f"{limits['source_tokens']:,} source tokens; for n of them an answer has at most "
        f"{limits['answer_factor']} n + {limits['answer_extra']} tokens, and {limits['target_tokens']:,}",
        "scores": f"{', '.join(scores) or 'no references'}, on {quality['sentences']:,} golden sentences",
        **({"beam": _searched(beam)} if beam else {}),
        "sentences/s": f"{', '.join(speeds)}, on {machine['processor']}, {machine['threads']} thread",
    }


def _beam(row: dict[str, Any]) -> str:
    return f" beam {row['beam']}" if row["beam"] > 1 else ""


def _searched(beam: dict[str, Any]) -> str:
    return (
        f"BLEU {beam['bleu']:.2f} with a beam of {beam['beam']}, {beam['greedy_bleu']:.2f} greedily, "
        f"on {beam['sentences']:,} of them"
    )


def _domain(summary: dict[str, Any]) -> str:
    pairs = summary["pairs"]
    counted = f"; {pairs['kept']:,} pairs kept of {pairs['read']:,}" if pairs else ""
    return f"{summary['domain'] or 'unknown'}{counted}"


def _from(origin: dict[str, Any]) -> str:
    known = f", step {origin['step']:,}, BLEU {origin['bleu']:.2f}" if origin.get("step") else ""
    return f"{origin['path']} ({origin.get('domain') or 'a .keras file'}{known})"


def _network(network: dict[str, Any]) -> str:
    from keras_transformer.training.runs.model_card import network_sizes

    preset = network["preset"] or "no preset"
    return f"{preset}: {network_sizes(network)}, {network['parameters']:,} parameters"


def _vocabulary(network: dict[str, Any]) -> str:
    if network["joint"]:
        return f"{network['source_vocabulary']:,} pieces for both sides"
    return f"{network['source_vocabulary']:,} and {network['target_vocabulary']:,} pieces"


def _scores(scores: dict[str, float]) -> str:
    before = (
        f"; on those of the run before BLEU {scores['initial_bleu']:.2f}" if "initial_bleu" in scores else ""
    )
    return (
        f"BLEU {scores['bleu']:.2f}, token accuracy {scores['accuracy']:.1%}, loss {scores['loss']:.3f} "
        f"on held-out pairs, at step {scores['step']:,}, the best{before}"
    )


def _bytes(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
