"""An imported model in every runtime of a version: the same tokens, the same text, the same limits."""

import json
from pathlib import Path

import pytest

from export.artifact.manifest import LearnedLengths, Version, open_version
from export.export_request import ExportRequest, Origin
from export.exporter import ExportError, export_version
from export.golden_sentences import Chosen, SourceSentence
from export.verify import certificate
from keras_transformer import TranslationModel

GOLDEN = Path(__file__).parents[1] / "keras_transformer" / "pretrained" / "golden"
KINDS = ["swish", "untied", "two_vocabularies", "languages", "short_answers"]
FORMATS = ("saved_model", "onnx", "ctranslate2")


def texts(kind: str) -> dict[str, str]:
    answers = json.loads((GOLDEN / kind / "expected.json").read_bytes())
    return {text: answer["translation"] for text, answer in answers.items()}


def exported(kind: str, directory: Path, *, with_tokenizer: bool = False) -> Version:
    model = TranslationModel.from_pretrained(GOLDEN / kind)
    sentences = [SourceSentence(text) for text in texts(kind)]
    origin = Origin(None, None, LearnedLengths(**model.lengths._asdict()))
    request = ExportRequest(FORMATS, "int8", with_tokenizer)
    return export_version(model, directory, request, Chosen(sentences, sentences), origin, lambda line: None)


@pytest.mark.parametrize("kind", KINDS)
def test_every_runtime_answers_as_transformers_does(kind: str, tmp_path: Path) -> None:
    exported(kind, tmp_path / "1")
    version = open_version(tmp_path / "1")
    assert [sentence.target for sentence in version.golden] == [*texts(kind).values()]
    found = certificate(version, lambda line: None)
    assert not found.broken
    by_name = {(row.runtime, row.precision): row for row in found.rows}
    assert set(by_name) == {
        ("onnx/scheduler", "float32"), ("onnx/scheduler", "int8"), ("onnx/translate", "float32"),
        ("ctranslate2", "float32"), ("saved_model", "float32"),
    }  # fmt: skip
    for (_, precision), row in by_name.items():
        if precision == "float32":
            assert row.identical + row.near_ties == row.sentences
    assert by_name["saved_model", "float32"].texts == by_name["saved_model", "float32"].identical


def test_text_onnx_is_refused_with_the_reason_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"text\.onnx .* a vocabulary numbers its pieces"):
        exported("swish", tmp_path / "1", with_tokenizer=True)
    assert not any(tmp_path.iterdir())


def test_the_manifest_of_a_model_without_these_options_does_not_name_them() -> None:
    from keras_transformer.models.network import Network

    assert not set(Network.optional) & set(Network().as_dict())
