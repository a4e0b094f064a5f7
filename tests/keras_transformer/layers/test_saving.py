"""A layer that is saved and loaded, or copied, answers as before; its weights have names of their own."""

import os
import subprocess
import sys

import keras
import numpy as np
import pytest

import keras_transformer as kt
from tests.support.layer_cases import (
    BLOCK,
    CASES,
    MEMORY,
    STACK,
    WIDTH,
    X,
    allowed_by,
    batch_of,
    every,
    number,
    same,
)


def functional(case, **settings):
    """A model around the layer, with everything that may be passed to it passed, and all its outputs."""
    inputs, layer = case.inputs(), case.make(**settings)
    if not case.attends:
        return keras.Model(inputs, layer(*inputs)), layer
    mask = keras.Input((None, None), dtype="bool", name="mask")
    outputs = layer(*inputs, attention_mask=mask, return_attention_scores=True)
    return keras.Model([*inputs, mask], keras.tree.flatten(outputs)), layer


def arguments(case):
    return [*case.arrays, allowed_by(case)] if case.attends else list(case.arrays)


@pytest.fixture(scope="module")
def models():
    """The functional model of each case and what it answers, made once."""
    made = {}

    def of(case):
        if case.name not in made:
            model, layer = functional(case)
            made[case.name] = model, layer, model(arguments(case))
        return made[case.name]

    return of


@every
def test_a_saved_model_loads_and_answers_the_same(case, models, tmp_path):
    model, layer, expected = models(case)
    model.save(tmp_path / "model.keras")

    loaded = keras.models.load_model(tmp_path / "model.keras")

    same(loaded(arguments(case)), expected, atol=1e-6)
    (again,) = [other for other in loaded.layers if type(other) is type(layer)]
    assert again.get_config() == layer.get_config()
    assert [weight.path for weight in again.weights] == [weight.path for weight in layer.weights]


@pytest.mark.parametrize("case", [CASES["embedding"], CASES["decoder_pre"]], ids=lambda case: case.name)
def test_weights_alone_are_saved_and_loaded(case, models, tmp_path):
    model, _, expected = models(case)
    model.save_weights(tmp_path / "model.weights.h5")

    other, _ = functional(case)
    other.load_weights(tmp_path / "model.weights.h5")

    same(other(arguments(case)), expected, atol=1e-6)


@every
def test_a_cloned_model_is_like_it_with_weights_of_its_own(case, models):
    model, _, expected = models(case)

    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())

    same(clone(arguments(case)), expected, atol=1e-6)
    assert not {id(weight) for weight in clone.weights} & {id(weight) for weight in model.weights}


@keras.saving.register_keras_serializable(package="tests")
def doubled(x):
    return 2 * x


@pytest.mark.parametrize("kind", [kt.TransformerEncoder, kt.TransformerDecoder, kt.TransformerEncoderBlock])
def test_a_registered_activation_of_ones_own_is_saved_and_loaded(kind, tmp_path):
    layer = kind(**(BLOCK if kind is kt.TransformerEncoderBlock else STACK), activation=doubled)
    inputs = keras.Input((None, WIDTH))
    model = keras.Model(inputs, layer(inputs))
    model.save(tmp_path / "model.keras")

    same(keras.models.load_model(tmp_path / "model.keras")(X), model(X), atol=1e-6)


@every
def test_every_weight_has_a_path_of_its_own(case, models):
    _, layer, _ = models(case)
    paths = [weight.path for weight in layer.weights]

    assert len(set(paths)) == len(paths)
    assert all(path.startswith(layer.name + "/") for path in paths)


def test_the_paths_of_a_decoder_can_be_read():
    decoder = kt.TransformerDecoder(num_layers=1, **BLOCK, name="decoder")
    decoder(X, MEMORY)

    assert {weight.path: weight.shape for weight in decoder.trainable_weights} == {
        "decoder/block_0/self_attention/query_key_value/kernel": (8, 24),
        "decoder/block_0/self_attention/query_key_value/bias": (24,),
        "decoder/block_0/self_attention/output/kernel": (8, 8),
        "decoder/block_0/self_attention/output/bias": (8,),
        "decoder/block_0/self_attention_norm/gamma": (8,),
        "decoder/block_0/self_attention_norm/beta": (8,),
        "decoder/block_0/cross_attention/query/kernel": (8, 8),
        "decoder/block_0/cross_attention/query/bias": (8,),
        "decoder/block_0/cross_attention/key_value/kernel": (6, 16),
        "decoder/block_0/cross_attention/key_value/bias": (16,),
        "decoder/block_0/cross_attention/output/kernel": (8, 8),
        "decoder/block_0/cross_attention/output/bias": (8,),
        "decoder/block_0/cross_attention_norm/gamma": (8,),
        "decoder/block_0/cross_attention_norm/beta": (8,),
        "decoder/block_0/feed_forward/inner/kernel": (8, 12),
        "decoder/block_0/feed_forward/inner/bias": (12,),
        "decoder/block_0/feed_forward/outer/kernel": (12, 8),
        "decoder/block_0/feed_forward/outer/bias": (8,),
        "decoder/block_0/feed_forward_norm/gamma": (8,),
        "decoder/block_0/feed_forward_norm/beta": (8,),
        "decoder/norm/gamma": (8,),
        "decoder/norm/beta": (8,),
    }


LOAD = """
import sys
import keras_transformer
keras_transformer.TransformerEncoder  # the first public name registers every layer
import keras
import numpy as np
model = keras.models.load_model(sys.argv[1])
answers = model({name: array for name, array in np.load(sys.argv[2]).items()})
np.savez(sys.argv[3], **{name: keras.ops.convert_to_numpy(answer) for name, answer in answers.items()})
"""


def test_a_fresh_process_loads_every_layer_once_a_public_name_was_asked_for(together, tmp_path):
    model, asked, answered = tmp_path / "model.keras", tmp_path / "asked.npz", tmp_path / "answered.npz"
    together.model.save(model)
    np.savez(asked, **batch_of(2, 3, 4))

    subprocess.run(
        [sys.executable, "-c", LOAD, model, asked, answered],
        check=True,
        env={**os.environ, "KERAS_BACKEND": keras.backend.backend()},
        timeout=120,
    )

    found, expected = np.load(answered), together.model(batch_of(2, 3, 4))
    assert set(found) == set(expected)
    for name, answer in expected.items():
        np.testing.assert_allclose(found[name], number(answer), rtol=0, atol=1e-6)
