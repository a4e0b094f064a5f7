"""Check that every runtime of an exported version gives the answers of the trained model.

It translates the golden sentences in each runtime and prints a certificate. The exit status is 1 if an answer
differs that must not.

examples:
  keras-transformer verify models/fr-en/1
  keras-transformer verify models/fr-en/1 --json
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from keras_transformer.cli import CommandError, report
from keras_transformer.cli._models import is_version, refuse_if_another_is_near
from keras_transformer.text.visible import visible

if TYPE_CHECKING:
    from export.artifact.manifest import Version
    from export.artifact.quality_card import Agreement
    from export.verify import Certificate, Difference

HEADINGS = ("runtime", "precision", "beam", "sentences", "identical", "as text", "near-ties", "score off by",
            "BLEU", "change", "sentences/s")  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument("directory", type=Path, metavar="DIR", help="an exported version: NAME/VERSION")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> None:
    """Compare the runtimes, and print the certificate. A broken promise is an error in the last line."""
    from export.verify import certificate
    from keras_transformer.cli._opened import open_exported

    refuse_if_another_is_near(arguments.directory, is_version)
    version = open_exported(arguments.directory)
    result = certificate(version, report)
    print(visible(_object(version, result) if arguments.json else _table(version, result)))
    if result.broken:
        raise CommandError(f"{arguments.directory} breaks its promise: {'; '.join(result.broken)}.")


def _object(version: "Version", result: "Certificate") -> str:
    content = {"version": str(version.directory), "kept": not result.broken, **asdict(result)}
    return json.dumps(content, ensure_ascii=False)


def _table(version: "Version", result: "Certificate") -> str:
    languages = version.manifest.languages
    cells = [HEADINGS, *map(_cells, result.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        f"{version.directory}: {languages.source or 'unknown'} to {languages.target or 'unknown'}, "
        f"{len(version.golden):,} golden sentences"
    ]
    for row in cells:
        texts = [cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True)]
        numbers = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        lines.append("  " + "  ".join([*texts, *numbers]))
    return "\n".join([*lines, *map(_difference, result.differences)])


def _cells(row: "Agreement") -> tuple[str, ...]:
    def shown(value: float | None, form: str) -> str:
        return "-" if value is None else format(value, form)

    return (
        row.runtime,
        row.precision,
        f"{row.beam}",
        f"{row.sentences:,}",
        f"{row.identical:,}",
        shown(row.texts, ","),
        f"{row.near_ties:,}",
        shown(row.score_difference, ".1e"),
        shown(row.bleu, ".2f"),
        shown(row.bleu_change, "+.2f"),
        f"{row.sentences_per_second:,.0f}",
    )


def _difference(difference: "Difference") -> str:
    beam = f" with a beam of {difference.beam}" if difference.beam > 1 else ""
    verdict = "near-tie" if difference.near_tie else "broken"
    return (
        f"  {verdict}, {difference.runtime}{beam}, margin {difference.margin:.1e}: {difference.source!r}\n"
        f"    model:   {difference.expected!r}\n    runtime: {difference.answered!r}"
    )
