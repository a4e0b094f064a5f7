"""Exported versions of the golden MarianMT directories."""

import json
from pathlib import Path

from export.artifact.manifest import LearnedLengths, Version
from export.export_request import ExportRequest, Origin
from export.exporter import export_version
from export.golden_sentences import Chosen, SourceSentence
from keras_transformer import TranslationModel
from tests.support.once import made_once
from tests.support.paths import ROOT

#: The kinds whose answers are asked of every runtime.
KINDS = ("swish", "untied", "two_vocabularies", "languages", "short_answers")
GOLDEN = ROOT / "tests" / "keras_transformer" / "pretrained" / "golden"


def texts(kind: str) -> dict[str, str]:
    """Texts and the translations that transformers gives them."""
    answers = json.loads((GOLDEN / kind / "expected.json").read_bytes())
    return {text: answer["translation"] for text, answer in answers.items()}


def exported(
    kind: str, directory: Path, *formats: str, quantize: str | None = None, with_tokenizer: bool = False
) -> Version:
    """Export a golden directory, with its texts as golden sentences."""
    model = TranslationModel.from_pretrained(GOLDEN / kind)
    sentences = [SourceSentence(text) for text in texts(kind)]
    origin = Origin(None, None, LearnedLengths(**model.lengths._asdict()))
    request = ExportRequest(formats, quantize, with_tokenizer)
    return export_version(model, directory, request, Chosen(sentences, sentences), origin, lambda line: None)


def exported_once(shared: Path, kind: str) -> Path:
    """Return models/fr-mul/1 of a golden directory, exported once in a run of the tests.

    The KINDS are exported in every format and in int8, all others in ONNX.
    """
    place = Path("models", "fr-mul", "1")

    def make(new: Path) -> None:
        if kind in KINDS:
            exported(kind, new / place, "saved_model", "onnx", "ctranslate2", quantize="int8")
        else:
            exported(kind, new / place, "onnx")

    return made_once(shared / f"imported-{kind}", make) / place
