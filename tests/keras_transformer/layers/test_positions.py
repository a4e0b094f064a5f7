import math

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import PositionalEncoding

tensorflow_only = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="only TensorFlow has lengths unknown while it traces"
)


def encoded(layer, length, width):
    return ops.convert_to_numpy(layer(np.zeros((1, length, width), "float32")))[0]


def test_sinusoids_follow_the_paper():
    # width 4: angles p / 10000^(0/4) = p and p / 10000^(2/4) = p / 100; sine and cosine take turns
    expected = [[math.sin(p), math.cos(p), math.sin(p / 100), math.cos(p / 100)] for p in range(3)]

    np.testing.assert_allclose(encoded(PositionalEncoding(), 3, 4), expected, atol=1e-6)


def test_position_zero_is_a_sine_of_zero_beside_a_cosine_of_one():
    np.testing.assert_allclose(encoded(PositionalEncoding(), 1, 4), [[0, 1, 0, 1]], atol=1e-7)


def test_an_odd_width_ends_with_a_sine():
    # width 3: the last pair has lost its cosine; its angle is 1 / 10000^(2/3)
    expected = [math.sin(1), math.cos(1), math.sin(1 / 10_000 ** (2 / 3))]

    np.testing.assert_allclose(encoded(PositionalEncoding(), 2, 3)[1], expected, atol=1e-6)


def test_far_positions_keep_their_digits():
    layer = PositionalEncoding(max_length=5000)
    expected = [math.sin(4999), math.cos(4999), math.sin(49.99), math.cos(49.99)]

    np.testing.assert_allclose(encoded(layer, 5000, 4)[4999], expected, atol=1e-6)


@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_positions_are_added_to_every_row_alike(kind):
    layer = PositionalEncoding(kind=kind)
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")

    added = ops.convert_to_numpy(layer(x)) - x

    np.testing.assert_allclose(added, np.stack([encoded(layer, 3, 4)] * 2), atol=1e-6)
    assert np.abs(added).max() > 0.01


def test_learned_positions_are_the_rows_of_one_weight():
    layer = PositionalEncoding(max_length=3, kind="learned")
    layer.build((None, None, 2))
    layer.weights[0].assign([[1, 2], [3, 4], [5, 6]])

    np.testing.assert_array_equal(encoded(layer, 2, 2), [[1, 2], [3, 4]])
    assert [weight.shape for weight in layer.trainable_weights] == [(3, 2)]


def test_sinusoidal_positions_have_nothing_to_train():
    layer = PositionalEncoding()
    layer.build((None, None, 4))

    assert layer.weights == []


@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_given_positions_are_looked_up_for_each_row(kind):
    layer = PositionalEncoding(max_length=9, kind=kind)
    table = encoded(layer, 9, 4)

    rows = layer(np.zeros((2, 2, 4), "float32"), positions=np.array([[3, 8], [0, 1]]))
    shared = layer(np.zeros((2, 2, 4), "float32"), positions=np.array([5, 0]))

    np.testing.assert_allclose(ops.convert_to_numpy(rows), table[[[3, 8], [0, 1]]], atol=1e-6)
    np.testing.assert_allclose(ops.convert_to_numpy(shared), table[[[5, 0], [5, 0]]], atol=1e-6)


@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_the_last_position_can_be_used_and_the_next_is_refused(kind):
    layer = PositionalEncoding(max_length=4, kind=kind)
    layer(np.zeros((1, 4, 2)))

    with pytest.raises(
        ValueError, match=r"knows 4 positions; got an input of length 5.*Create it with max_length=5 or more"
    ):
        layer(np.zeros((1, 5, 2)))


def test_a_length_past_the_table_is_refused_while_a_model_is_being_made():
    with pytest.raises(ValueError, match=r"knows 4 positions; got an input of length 6"):
        PositionalEncoding(max_length=4)(keras.Input((6, 2)))


@tensorflow_only
@pytest.mark.parametrize("max_length", [1, 4])  # a single position would fit any length
@pytest.mark.parametrize("compiled", [False, True], ids=["graph", "xla"])
@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_a_length_past_the_table_is_refused_at_run_time_too(kind, compiled, max_length):
    import tensorflow as tf

    layer = PositionalEncoding(max_length=max_length, kind=kind)
    layer.build((None, None, 2))
    run = tf.function(
        layer, input_signature=[tf.TensorSpec((None, None, 2), tf.float32)], jit_compile=compiled
    )

    assert run(tf.zeros((1, max_length, 2))).shape == (1, max_length, 2)
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(tf.zeros((1, max_length + 1, 2)))


@tensorflow_only
@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_given_positions_past_the_table_are_refused_at_run_time(kind):
    import tensorflow as tf

    layer = PositionalEncoding(max_length=4, kind=kind)
    run = tf.function(lambda positions: layer(np.zeros((1, 2, 2)), positions=positions))
    run(tf.constant([0, 3]))

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"= 4 is not in \[0, 4\)"):
        run(tf.constant([0, 4]))


@pytest.mark.parametrize("shape", [(3,), (2, 1), (2, 3), (1,)], ids=str)
def test_given_positions_of_another_length_than_the_input_are_refused(shape):
    with pytest.raises(ValueError, match=r"must be \(batch, time\) or \(time,\); .* of shape \(2, 2, 4\)"):
        PositionalEncoding()(np.zeros((2, 2, 4)), positions=np.zeros(shape, "int32"))


def test_an_unknown_kind_is_refused_and_the_known_ones_named():
    with pytest.raises(
        ValueError, match=r"kind must be one of sinusoidal, sinusoidal_halves, learned; got 'rotary'"
    ):
        PositionalEncoding(kind="rotary")


def test_room_for_no_position_is_refused():
    with pytest.raises(ValueError, match=r"max_length must be at least 1; got 0"):
        PositionalEncoding(max_length=0)


def test_an_input_that_is_no_sequence_of_vectors_is_refused():
    with pytest.raises(ValueError, match=r"adds to \(batch, time, width\); got an input of shape \(2, 3\)"):
        PositionalEncoding()(np.zeros((2, 3)))


def test_an_unknown_width_is_refused():
    with pytest.raises(ValueError, match=r"width of the input must be known; got shape \(None, 3, None\)"):
        PositionalEncoding()(keras.Input((3, None)))
