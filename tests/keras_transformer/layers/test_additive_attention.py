"""Additive attention: its values by hand, and what it never depends on."""

from collections.abc import Callable

import keras
import numpy as np
import pytest
from keras import ops

import keras_transformer as kt
from tests.support.layer_cases import MEMORY, MEMORY_REAL, X, normal, number


@pytest.fixture(scope="module")
def layer() -> kt.AdditiveAttention:
    keras.utils.set_random_seed(0)
    layer = kt.AdditiveAttention(width=5)
    layer(X, MEMORY)
    return layer


def test_the_weights_are_the_softmax_of_v_times_tanh_of_the_sum(assign: Callable[..., None]) -> None:
    layer = kt.AdditiveAttention(width=1)
    layer.build((None, None, 1), (None, None, 2))
    # the first number of a value is its key: tanh(1 - 1) = 0 and tanh(1 + k) = 1/2; v = 2 ln 3
    # scores [0, ln 3] -> weights [1/4, 3/4] -> 4/4 + 8*3/4 = 7
    key = np.arctanh(0.5) - 1
    assign(layer, {"query/kernel": [1.0], "key/kernel": [1.0, 0.0], "scale": [2 * np.log(3)]})
    query, value = np.array([[[1.0]]]), np.array([[[-1.0, 4.0], [key, 8.0]]])
    output, weights = layer(query, value, return_attention_scores=True)
    np.testing.assert_allclose(number(weights), [[[0.25, 0.75]]], rtol=1e-5)
    np.testing.assert_allclose(number(output)[0, 0, 1], 7.0, rtol=1e-5)


def test_padding_of_the_value_has_no_weight_and_more_of_it_changes_nothing(
    layer: kt.AdditiveAttention,
) -> None:
    output, weights = layer(X, MEMORY, value_mask=MEMORY_REAL, return_attention_scores=True)
    assert (number(weights)[~np.broadcast_to(MEMORY_REAL[:, None], weights.shape)] == 0).all()
    np.testing.assert_allclose(number(weights).sum(axis=-1), 1, rtol=1e-6)
    longer = np.concatenate([MEMORY, normal(2, 3, MEMORY.shape[2], seed=9)], axis=1)
    mask = np.pad(MEMORY_REAL, ((0, 0), (0, 3)))
    np.testing.assert_allclose(number(layer(X, longer, value_mask=mask)), number(output), atol=1e-6)


def test_a_row_that_may_attend_to_nothing_is_zero(layer: kt.AdditiveAttention) -> None:
    hidden = np.zeros(MEMORY.shape[:2], bool)
    assert not number(layer(X, MEMORY, value_mask=hidden)).any()


def test_the_order_of_the_value_does_not_matter(layer: kt.AdditiveAttention) -> None:
    np.testing.assert_allclose(number(layer(X, MEMORY[:, ::-1])), number(layer(X, MEMORY)), atol=1e-6)


def test_the_masks_of_embeddings_hide_and_pass_through(layer: kt.AdditiveAttention) -> None:
    queries, keys = np.array([[5, 6, 0]]), np.array([[7, 8, 9, 0]])
    width, memory_width = X.shape[2], MEMORY.shape[2]
    target, source = kt.TokenEmbedding(10, width)(queries), kt.TokenEmbedding(10, memory_width)(keys)
    _, weights = layer(target, source, return_attention_scores=True)
    assert not number(weights)[0, :, 3].any()
    np.testing.assert_array_equal(ops.convert_to_numpy(layer(target, source)._keras_mask), queries != 0)


def test_a_mask_of_floats_is_refused(layer: kt.AdditiveAttention) -> None:
    with pytest.raises(ValueError, match=r"got -1000000000\.0"):
        layer(X, MEMORY, value_mask=np.where(MEMORY_REAL, 0.0, -1e9))
    with pytest.raises(ValueError, match="width must be at least 1; got 0"):
        kt.AdditiveAttention(width=0)
