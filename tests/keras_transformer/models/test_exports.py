"""Keras' own exports of a translation model give its numbers in their runtimes, for any batch and lengths."""

import keras
import numpy as np
import pytest

from keras_transformer import TranslationModel
from keras_transformer.models.network import Network
from tests.support.keras_exports import SHAPES, batch, litert, onnx, pytestmark, saved_model

__all__ = ["pytestmark"]


@pytest.mark.parametrize("export", [saved_model, onnx, litert], ids=lambda export: export.__name__)
def test_a_model_that_was_never_called_is_exported(export, tmp_path, capfd) -> None:
    keras.utils.set_random_seed(1)
    model = TranslationModel(Network(1, 1, 16, 24, 2), 30)
    model.build()
    run = export(model, str(tmp_path / "exported"))
    assert "Traceback" not in "".join(capfd.readouterr())

    for shape in SHAPES:
        ids = {name: array for name, array in batch(*shape).items() if name != "allowed"}
        np.testing.assert_allclose(run(ids), model(ids), rtol=0, atol=1e-5)


def test_a_signature_of_ones_own_is_kept(tmp_path) -> None:
    import tensorflow as tf

    model = TranslationModel(Network(1, 1, 8, 8, 2), 30)
    model.build()
    ids = {name: keras.InputSpec(shape=(None, 7), dtype="int32", name=name) for name in ("source", "target")}
    model.export(str(tmp_path / "exported"), verbose=False, input_signature=[ids])
    signature = tf.saved_model.load(tmp_path / "exported").signatures["serve"]
    assert signature.structured_input_signature[1]["source"].shape == (None, 7)
