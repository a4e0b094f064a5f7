"""What the examples are given, and what they must answer."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from export.artifact.manifest import open_version
from export.formats.runtimes.onnx_translate_runtime import TranslateOnnx
from keras_transformer.phrasebook import phrasebook
from tests.support.paths import ROOT
from tests.support.texts import HOSTILE

EXAMPLES = ROOT / "examples"
LINES = [
    *(pair.source for pair in phrasebook("fr-en", "test", 30)),
    "",
    "  ",
    "a\r",
    "a\u2028b\u0085c\x1d",
    "Je suis étudiant. " * 100,  # longer than the model takes
    *(text for text in HOSTILE if "\n" not in text and len(text) < 1000),
]


def expected(version: Path, lines: Sequence[str]) -> list[dict[str, Any]]:
    """What the exported graph says, asked with the tokenizer that was trained."""
    opened = open_version(version)
    rows = opened.tokenizer.encode_source(lines, opened.manifest.limits.source_tokens)
    answers = TranslateOnnx(version / "onnx" / "translate.onnx").translate_ids(rows)
    texts = opened.tokenizer.decode_target([answer.ids for answer in answers])
    return [
        {"text": text, "ids": answer.ids, "score": pytest.approx(answer.score, abs=1e-5)}
        for text, answer in zip(texts, answers, strict=True)
    ]
