"""Keras' own ONNX export of a family gives its numbers in ONNX Runtime, for any batch and length.

The kinds have each form of GELU.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.models import GPT2, T5, DistilBert, Llama, TextClassifier, ViT
from tests.support.close import assert_close
from tests.support.family_kinds import GOLDEN
from tests.support.keras_exports import onnx, pytestmark

__all__ = ["pytestmark"]


def expected(name: str) -> dict[str, np.ndarray]:
    return dict(np.load(GOLDEN / name / "expected.npz"))


@pytest.mark.parametrize(
    ("kind", "name", "output"),
    [
        (TextClassifier, "bert_first_years", "logits"),
        (DistilBert, "distilbert_masked", "hidden"),
    ],
)
def test_a_text_model_computes_the_same_in_onnx_runtime(
    kind: Any, name: str, output: str, tmp_path: Path
) -> None:
    model, known = kind.from_pretrained(GOLDEN / name), expected(name)
    run = onnx(model, str(tmp_path / "model"))
    names = [name for name in ("ids", "token_types") if name in known]
    arrays = {name: known[name].astype("int32") for name in names}
    assert_close(run(arrays), known[output])
    shorter = {name: values[1:2, :1] for name, values in arrays.items()}  # one token, and no padding
    padded = {name: values[1:2] for name, values in arrays.items()}
    first = (slice(None), slice(1)) if output == "hidden" else ()
    np.testing.assert_allclose(run(shorter), run(padded)[first], rtol=0, atol=1e-5)


def test_a_classifier_of_images_computes_the_same_in_onnx_runtime(tmp_path: Path) -> None:
    model, known = ViT.from_pretrained(GOLDEN / "vit_oblong"), expected("vit_oblong")
    run = onnx(model, str(tmp_path / "model"))
    assert_close(run({"pixels": model.pixels(known["images"])}), known["logits"])
    assert_close(run({"pixels": model.pixels(known["images"][:1])}), known["logits"][:1])


@pytest.mark.parametrize(("kind", "name"), [(GPT2, "gpt2_first_years"), (Llama, "llama"), (T5, "t5")])
def test_a_model_that_generates_computes_the_same_logits_in_onnx_runtime(
    kind: Any, name: str, tmp_path: Path
) -> None:
    model, known = kind.from_pretrained(GOLDEN / name), expected(name)
    run = onnx(model, str(tmp_path / "model"))
    names = {"source": "ids", "target": "target"} if kind is T5 else {"ids": "ids"}
    arrays = {name: known[other].astype("int32") for name, other in names.items()}
    real = np.arange(known["logits"].shape[1]) < known["lengths"][:, None]  # padding means nothing
    if kind is T5:
        real[:] = True
    assert_close(run(arrays)[real], known["logits"][real])
    first = {name: values[:1, :7] for name, values in arrays.items()}
    assert_close(run(first), np.asarray(model(first["ids"] if kind is not T5 else first)))
