"""An imported model in every runtime of a version: the same tokens, the same text, the same limits."""

from pathlib import Path

import pytest

from export.artifact.manifest import open_version
from export.exporter import ExportError
from tests.support.versions.imported import KINDS, exported, exported_once, texts


@pytest.mark.parametrize("kind", KINDS)
def test_every_runtime_answers_as_transformers_does(kind: str, shared: Path) -> None:
    version = open_version(exported_once(shared, kind))  # fails where a runtime breaks a promise
    assert [sentence.target for sentence in version.golden] == [*texts(kind).values()]
    by_name = {(row.runtime, row.precision): row for row in version.manifest.quality.agreement}
    assert set(by_name) == {
        ("onnx/scheduler", "float32"), ("onnx/scheduler", "int8"), ("onnx/translate", "float32"),
        ("ctranslate2", "float32"), ("saved_model", "float32"),
    }  # fmt: skip
    for (_, precision), row in by_name.items():
        assert row.sentences == len(version.golden)
        if precision == "float32":
            assert row.identical + row.near_ties == row.sentences
    assert by_name["saved_model", "float32"].texts == by_name["saved_model", "float32"].identical


def test_text_onnx_is_refused_with_the_reason_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"text\.onnx .* a vocabulary numbers its pieces"):
        exported("swish", tmp_path / "1", "onnx", with_tokenizer=True)
    assert not any(tmp_path.iterdir())


def test_the_manifest_of_a_model_without_these_options_does_not_name_them() -> None:
    from keras_transformer.models.network import Network

    assert not set(Network.optional) & set(Network().as_dict())
