"""What Keras exports of a masked model runs in its own runtime with its numbers for any batch and length."""

import keras
import numpy as np
import pytest

import keras_transformer as kt
from tests.support.keras_exports import SHAPES, batch, litert, onnx, pytestmark, saved_model

__all__ = ["pytestmark"]


@pytest.fixture(scope="module")
def model() -> keras.Model:
    """An encoder and a decoder that share an embedding, with padding and a mask of each pair of positions."""
    keras.utils.set_random_seed(1)
    target, source = (keras.Input((None,), dtype="int32", name=name) for name in ("target", "source"))
    allowed = keras.Input((None, None), dtype="bool", name="allowed")
    embedding, positions = kt.TokenEmbedding(30, 16), kt.PositionalEncoding(16, kind="learned")
    settings = {"num_layers": 1, "num_heads": 2, "inner_width": 24}
    memory = kt.TransformerEncoder(**settings)(positions(embedding(source)), attention_mask=allowed)
    decoded = kt.TransformerDecoder(**settings)(positions(embedding(target)), memory)
    logits = embedding(decoded, reverse=True)
    return keras.Model({"target": target, "source": source, "allowed": allowed}, logits)


@pytest.mark.parametrize("export", [saved_model, onnx, litert], ids=lambda export: export.__name__)
def test_an_export_gives_the_numbers_of_the_model_at_any_batch_and_length(model, export, tmp_path, capfd):
    run = export(model, str(tmp_path / "exported"))
    assert "Traceback" not in "".join(capfd.readouterr())  # a converter prints what it cannot read

    for shape in SHAPES:
        arrays = batch(*shape)
        np.testing.assert_allclose(run(arrays), model(arrays), rtol=0, atol=1e-5)
