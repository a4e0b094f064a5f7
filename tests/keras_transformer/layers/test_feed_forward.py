import math

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import FeedForward


def doubled(x):
    return 2 * x


def test_it_goes_out_through_the_activation_and_back(assign):
    layer = FeedForward(inner_width=3)
    layer.build((None, None, 2))
    assign(
        layer,
        {
            "inner/kernel": [[1, 0, -1], [0, 1, -1]],
            "inner/bias": [0, -5, 4],
            "outer/kernel": [[1, 0], [10, 0], [0, 100]],
            "outer/bias": [0.5, 0.25],
        },
    )

    # [1, 2] -> [1, 2 - 5, -3 + 4] = [1, -3, 1] -> relu [1, 0, 1] -> [1, 100] + [0.5, 0.25]
    np.testing.assert_allclose(ops.convert_to_numpy(layer(np.array([[[1.0, 2.0]]]))), [[[1.5, 100.25]]])


def test_gelu_is_the_exact_one_not_its_tanh_approximation(assign):
    layer = FeedForward(inner_width=1, activation="gelu")
    layer.build((None, 1))
    assign(layer, {"inner/kernel": [[1]], "outer/kernel": [[1]]})

    # x Φ(x) = x (1 + erf(x / √2)) / 2; the approximation is 1.5e-4 away at 2
    expected = 2 * (1 + math.erf(2 / math.sqrt(2))) / 2
    np.testing.assert_allclose(ops.convert_to_numpy(layer(np.array([[2.0]]))), [[expected]], atol=1e-6)


def test_any_function_can_be_the_activation(assign):
    layer = FeedForward(inner_width=1, activation=doubled)
    layer.build((None, 1))
    assign(layer, {"inner/kernel": [[1]], "outer/kernel": [[1]]})

    # 3 -> 2 * 3
    np.testing.assert_allclose(ops.convert_to_numpy(layer(np.array([[3.0]]))), [[6.0]])


def test_each_position_is_worked_on_alone():
    layer = FeedForward(inner_width=4)
    x = np.random.default_rng(0).normal(size=(2, 3, 8)).astype("float32")
    together = ops.convert_to_numpy(layer(x))

    for position in range(3):
        alone = ops.convert_to_numpy(layer(x[:, position : position + 1]))
        np.testing.assert_allclose(alone, together[:, position : position + 1], atol=1e-6)


def test_dropout_falls_on_the_inner_activations_and_not_on_what_comes_out(assign):
    layer = FeedForward(inner_width=2, dropout=0.5, seed=0)
    layer.build((None, 1))
    assign(layer, {"inner/kernel": [[1, 1]], "outer/kernel": [[1], [10]], "outer/bias": [100]})

    # each inner 1 is kept, doubled, or dropped: 100 + {0, 2} + {0, 20}
    found = np.unique(ops.convert_to_numpy(layer(np.ones((200, 1)), training=True)))
    np.testing.assert_allclose(found, [100, 102, 120, 122])


def test_an_inner_width_of_nothing_is_refused():
    with pytest.raises(ValueError, match=r"inner_width must be at least 1; got 0"):
        FeedForward(inner_width=0)


def test_an_unknown_width_is_refused():
    with pytest.raises(ValueError, match=r"width of the input must be known; got shape \(None, None\)"):
        FeedForward(inner_width=4)(keras.Input((None,)))


def test_an_unknown_activation_is_refused_by_its_name():
    with pytest.raises(ValueError, match="geluu"):
        FeedForward(inner_width=4, activation="geluu")


def test_dropout_of_more_than_everything_is_refused_with_its_value():
    with pytest.raises(ValueError, match=r"dropout must be at least 0 and below 1.*got 1\.5"):
        FeedForward(inner_width=4, dropout=1.5)
