"""Dropout is for training alone, everywhere that it is asked for, and repeatable by a seed."""

import keras
import numpy as np
import pytest

import keras_transformer as kt
from keras_transformer.layers.dropout import Dropout
from tests.support.layer_cases import CASES, X, number, same

every_dropping = pytest.mark.parametrize(
    "case", [pytest.param(case, id=name) for name, case in CASES.items() if case.drops]
)


def dropping(case, seed):
    settings = {"dropout": 0.5, "seed": seed}
    if "coder" in case.name:
        settings |= {"attention_dropout": 0.5, "inner_dropout": 0.5}
    return case.make(**settings)


@every_dropping
def test_one_seed_makes_dropout_repeatable(case):
    first, again, other = dropping(case, 7), dropping(case, 7), dropping(case, 8)
    outputs = []
    for layer in (first, again, other):
        layer(*case.arrays)
        for weight, value in zip(layer.trainable_weights, first.trainable_weights, strict=True):
            weight.assign(value)
        outputs.append([number(layer(*case.arrays, training=True)) for _ in range(2)])

    same(outputs[0], outputs[1], atol=0)
    assert np.abs(outputs[0][0] - outputs[0][1]).max() > 1e-3  # each call draws anew
    assert np.abs(outputs[0][0] - outputs[2][0]).max() > 1e-3


@every_dropping
def test_the_seed_of_keras_makes_weights_and_dropout_repeatable(case):
    def run():
        keras.utils.set_random_seed(3)
        return number(dropping(case, None)(*case.arrays, training=True))

    same(run(), run(), atol=0)


@every_dropping
def test_dropout_is_for_training_only(case):
    layer, without = dropping(case, 1), case.make(dropout=0.0)
    without(*case.arrays)
    layer(*case.arrays)
    for weight, value in zip(layer.trainable_weights, without.trainable_weights, strict=True):
        weight.assign(value)
    expected = without(*case.arrays)

    same(layer(*case.arrays), expected, atol=1e-6)
    same(layer(*case.arrays, training=False), expected, atol=1e-6)
    same(without(*case.arrays, training=True), expected, atol=1e-6)
    assert np.abs(number(layer(*case.arrays, training=True)) - number(expected)).max() > 1e-3


@pytest.mark.parametrize("kind", ["dropout", "attention_dropout", "inner_dropout"])
@pytest.mark.parametrize(
    "case", [pytest.param(case, id=name) for name, case in CASES.items() if "coder" in name]
)
def test_each_kind_of_dropout_of_a_block_does_something(case, kind):
    layer = case.make(**{"dropout": 0.0, "seed": 1, kind: 0.5})

    difference = number(layer(*case.arrays, training=True)) - number(layer(*case.arrays))

    assert np.abs(difference).max() > 1e-4


@pytest.mark.parametrize("name", ["encoder_pre", "decoder_pre"])
def test_no_two_things_in_a_stack_drop_alike(name):
    layer = dropping(CASES[name], 7)
    layer(*CASES[name].arrays)
    seeds = [inner.seed for inner in layer._flatten_layers() if isinstance(inner, Dropout) and inner.rate > 0]

    assert len(seeds) == len(set(seeds)) == (6 if name == "encoder_pre" else 8)


def test_scores_are_those_before_dropout():
    layer = kt.MultiHeadSelfAttention(num_heads=2, dropout=0.9, seed=0)

    _, scores = layer(X, return_attention_scores=True, training=True)

    np.testing.assert_allclose(number(scores).sum(-1), 1, rtol=1e-5)


own_on_tensorflow = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="this backend has Keras' own dropout"
)
COUNT = 1_000_000
FIVE_SIGMA = 5 * (0.3 * 0.7 / COUNT) ** 0.5


@pytest.mark.parametrize("dtype", ["float32", pytest.param("bfloat16", marks=own_on_tensorflow)])
def test_the_rate_is_the_share_of_elements_that_are_dropped(dtype):
    dropped = number(Dropout(0.3, seed=0, dtype=dtype)(np.ones(COUNT, np.float32), training=True))

    assert abs(np.mean(dropped == 0) - 0.3) < FIVE_SIGMA
    np.testing.assert_allclose(dropped[dropped != 0], 1 / 0.7, rtol=2e-3 if dtype == "bfloat16" else 2e-5)


def test_neighbours_are_dropped_independently_of_each_other():
    dropped = number(Dropout(0.3, seed=0)(np.ones((COUNT, 2), np.float32), training=True)) == 0

    assert abs(np.mean(dropped.all(axis=-1)) - 0.3**2) < FIVE_SIGMA


@pytest.mark.parametrize("shape", [(), (1,), (3, 5, 7), (2, 0, 4)])
def test_every_shape_can_be_dropped_from(shape):
    assert Dropout(0.5, seed=0)(np.ones(shape, np.float32), training=True).shape == shape


@pytest.mark.parametrize(("rate", "kept"), [(0.0, 1), (1e-9, 1), (1.0, 0)])
def test_rates_at_the_ends_keep_everything_or_nothing(rate, kept):
    np.testing.assert_array_equal(number(Dropout(rate, seed=0)(np.ones(1000), training=True)), kept)


def test_a_noise_shape_drops_whole_rows_as_in_keras():
    dropped = number(Dropout(0.5, noise_shape=(100, 1), seed=0)(np.ones((100, 8)), training=True))

    assert set(dropped.mean(axis=-1)) == {0.0, 2.0}


@own_on_tensorflow
@pytest.mark.parametrize("jit_compile", [False, True])
def test_the_gradient_passes_where_the_value_passed(jit_compile):
    import tensorflow as tf

    layer = Dropout(0.5, seed=0)

    @tf.function(jit_compile=jit_compile)
    def value_and_gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x, training=True)
        return y, tape.gradient(y, x, output_gradients=3 * tf.ones_like(x))

    value, gradient = value_and_gradient(tf.fill([40, 5], 7.0))

    assert 0 < np.count_nonzero(value) < 200
    same(gradient, value * 3 / 7, atol=1e-6)
    again, _ = value_and_gradient(tf.fill([40, 5], 7.0))
    assert np.any(number(again) != number(value))  # each call draws anew
