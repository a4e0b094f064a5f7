"""Layers that Keras has quantized, or that have LoRA, are saved and loaded wherever they are used."""

import os
import subprocess
import sys

import keras
import numpy as np
import pytest

import keras_transformer as kt
from tests.support.layer_cases import (
    IDS,
    STACK,
    VOCABULARY,
    WIDTH,
    Together,
    batch_of,
    number,
    same,
)
from tests.support.lora import with_lora

# of layers without products, such as dropout, and of embeddings, which have no float8
pytestmark = [
    pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method"),
    pytest.mark.filterwarnings("ignore:Invalid quantization mode. Expected .* Received. .*float8"),
]

LOAD = """
import sys
import keras
import numpy as np
import keras_transformer
keras_transformer.TransformerEncoder  # the first public name registers every layer
model = keras.models.load_model(sys.argv[1])
answers = model({name: array for name, array in np.load(sys.argv[2]).items()})
np.savez(sys.argv[3], **{name: keras.ops.convert_to_numpy(answer) for name, answer in answers.items()})
"""


def in_a_new_process(code, *arguments):
    subprocess.run(
        [sys.executable, "-c", code, *arguments],
        check=True,
        env={**os.environ, "KERAS_BACKEND": keras.backend.backend()},
        timeout=120,
    )


def modes(model):
    return [(layer.path, layer.quantization_mode) for layer in model._flatten_layers()]


def quantized_model_of_every_layer(mode):
    keras.utils.set_random_seed(1)
    model = Together().model
    model.quantize(mode)
    return model


def test_a_new_process_loads_every_layer_as_it_was_quantized(tmp_path):
    path, given, answered = tmp_path / "model.keras", tmp_path / "given.npz", tmp_path / "answered.npz"
    model, inputs = quantized_model_of_every_layer("int8"), batch_of(2, 3, 4)
    expected = model(inputs)
    model.save(path)
    np.savez(given, **inputs)

    in_a_new_process(LOAD, path, given, answered)

    found = np.load(answered)
    assert set(found) == set(expected)
    for name, answer in expected.items():
        np.testing.assert_allclose(found[name], number(answer), rtol=0, atol=1e-6)


@pytest.mark.parametrize("mode", ["int4", "float8"])
def test_every_layer_is_loaded_in_each_of_the_modes(mode, tmp_path):
    model, inputs = quantized_model_of_every_layer(mode), batch_of(2, 3, 4)
    model.save(tmp_path / "model.keras")

    loaded = keras.models.load_model(tmp_path / "model.keras")

    same(loaded(inputs), model(inputs), atol=1e-6)
    assert modes(loaded) == modes(model)


SUBCLASS = """
import sys
import keras
import numpy as np
from keras_transformer import TokenEmbedding, TransformerDecoder, TransformerEncoder

@keras.saving.register_keras_serializable("tests")
class Model(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.embedding = TokenEmbedding(11, 8)
        self.encoder = TransformerEncoder(2, num_heads=2, inner_width=12)
        self.decoder = TransformerDecoder(2, num_heads=2, inner_width=12)

    def call(self, ids):
        vectors = self.embedding(ids)
        return self.embedding(self.decoder(vectors, self.encoder(vectors)), reverse=True)

ids = np.array([[1, 2, 3, 0], [4, 5, 6, 7]])
verb, path, answers = sys.argv[1:]
if verb == "save":
    model = Model()
    model(ids)
    model.quantize("int8")
    model.save(path)
    np.save(answers, keras.ops.convert_to_numpy(model(ids)))
else:
    Model()  # so that Keras gives the layers other names than they had
    model = keras.models.load_model(path)
    np.testing.assert_allclose(keras.ops.convert_to_numpy(model(ids)), np.load(answers), rtol=0, atol=1e-6)
    assert model.encoder.blocks[1].feed_forward.inner.quantization_mode == "int8"
    assert model.embedding.quantization_mode == "int8"
"""


def test_a_subclassed_model_is_loaded_in_a_new_process_as_it_was_quantized(tmp_path):
    for verb in ("save", "load"):
        in_a_new_process(SUBCLASS, verb, tmp_path / "model.keras", tmp_path / "answers.npy")


def encoder_of(ids):
    embedded = kt.TokenEmbedding(VOCABULARY, WIDTH)(ids)
    return kt.TransformerEncoder(**STACK)(embedded)


@pytest.fixture
def model():
    keras.utils.set_random_seed(1)
    ids = keras.Input((None,), dtype="int32")
    return keras.Model(ids, encoder_of(ids))


@pytest.mark.parametrize("before", [False, True], ids=["not quantized", "quantized"])
def test_weights_of_a_quantized_model_alone_quantize_the_model_that_loads_them(model, before, tmp_path):
    clone = keras.models.clone_model(model)
    if before:
        clone.quantize("int8")
    model.quantize("int8")
    model.save_weights(tmp_path / "quantized.weights.h5")

    clone.load_weights(tmp_path / "quantized.weights.h5")

    same(clone(IDS), model(IDS), atol=1e-6)
    assert [mode for _, mode in modes(clone)] == [mode for _, mode in modes(model)]


def test_what_is_loaded_can_be_saved_again(model, tmp_path):
    model.quantize("int8")
    model.save(tmp_path / "first.keras")
    keras.models.load_model(tmp_path / "first.keras").save(tmp_path / "second.keras")

    same(keras.models.load_model(tmp_path / "second.keras")(IDS), model(IDS), atol=1e-6)


def test_a_part_of_the_layers_is_quantized_and_the_way_is_kept(model, tmp_path):
    config = keras.quantizers.Int4QuantizationConfig(block_size=4)
    chosen = model.layers[-1].blocks[1].feed_forward
    model.quantize(config=config, filters=lambda layer: layer in (chosen.inner, chosen.outer))
    model.save(tmp_path / "model.keras")

    loaded = keras.models.load_model(tmp_path / "model.keras")

    same(loaded(IDS), model(IDS), atol=1e-6)
    assert modes(loaded) == modes(model)
    assert [mode for _, mode in modes(loaded)].count("int4") == 2
    again = loaded.layers[-1].blocks[1].feed_forward.inner
    assert again.quantization_config.block_size == 4


def test_lora_is_saved_as_part_of_the_weights(model, tmp_path):
    before = number(model(IDS))
    with_lora(model).save(tmp_path / "model.keras")

    loaded = keras.models.load_model(tmp_path / "model.keras")

    same(loaded(IDS), model(IDS))
    assert np.abs(number(loaded(IDS)) - before).max() > 0.1


def test_lora_on_quantized_layers_is_quantized_with_them(model, tmp_path):
    model.quantize("int8")
    with_lora(model).save(tmp_path / "model.keras")

    loaded = keras.models.load_model(tmp_path / "model.keras")
    loaded.save(tmp_path / "again.keras")

    # Keras merges the change and quantizes the sum: half a step of each scale, once
    same(loaded(IDS), model(IDS), atol=0.1)
    same(keras.models.load_model(tmp_path / "again.keras")(IDS), loaded(IDS), atol=1e-6)
