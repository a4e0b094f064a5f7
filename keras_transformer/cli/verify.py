"""Ask every runtime of an exported version its golden sentences, and print the certificate: who says what the
trained model said. Exit status 1 if a promise is broken.

examples:
  keras-transformer verify models/fr-en/1
  keras-transformer verify models/fr-en/1 --json
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from keras_transformer.cli import CommandError
from keras_transformer.cli._nearby import is_version, refuse_if_another_is_near
from keras_transformer.text.visible import visible

if TYPE_CHECKING:
    from export.artifact.manifest import Version
    from export.artifact.quality_card import Agreement
    from export.verify import Certificate, Difference

HEADINGS = ("runtime", "precision", "sentences", "identical", "as text", "near-ties", "score off by", "BLEU",
            "change", "sentences/s")  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("directory", type=Path, metavar="DIR", help="an exported version: NAME/VERSION")
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(arguments: argparse.Namespace) -> None:
    """Check, ask, print; what is broken is told last."""
    from export.verify import certificate
    from keras_transformer.cli._opened import open_exported

    refuse_if_another_is_near(arguments.directory, is_version)
    version = open_exported(arguments.directory)
    found = certificate(version, _tell)
    print(visible(_object(version, found) if arguments.json else _table(version, found)))
    if found.broken:
        raise CommandError(f"{arguments.directory} breaks its promise: {'; '.join(found.broken)}.")


def _object(version: "Version", found: "Certificate") -> str:
    content = {"version": str(version.directory), "kept": not found.broken, **asdict(found)}
    return json.dumps(content, ensure_ascii=False)


def _table(version: "Version", found: "Certificate") -> str:
    languages = version.manifest.languages
    cells = [HEADINGS, *map(_cells, found.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        f"{version.directory}: {languages.source or 'unknown'} to {languages.target or 'unknown'}, "
        f"{len(version.golden):,} golden sentences"
    ]
    for row in cells:
        texts = [cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True)]
        numbers = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        lines.append("  " + "  ".join([*texts, *numbers]))
    return "\n".join([*lines, *map(_difference, found.differences)])


def _cells(row: "Agreement") -> tuple[str, ...]:
    def shown(value: float | None, form: str) -> str:
        return "-" if value is None else format(value, form)

    return (
        row.runtime,
        row.precision,
        f"{row.sentences:,}",
        f"{row.identical:,}",
        shown(row.texts, ","),
        f"{row.near_ties:,}",
        shown(row.score_difference, ".1e"),
        shown(row.bleu, ".2f"),
        shown(row.bleu_change, "+.2f"),
        f"{row.sentences_per_second:,.0f}",
    )


def _difference(each: "Difference") -> str:
    verdict = "near-tie" if each.near_tie else "broken"
    return (
        f"  {verdict}, {each.runtime}, margin {each.margin:.1e}: {each.source!r}\n"
        f"    model:   {each.expected!r}\n    runtime: {each.answered!r}"
    )


def _tell(line: str) -> None:
    print(visible(line), file=sys.stderr, flush=True)
