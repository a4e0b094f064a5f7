"""The optimizer of a training run is Keras' Adam, number for number."""

from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer.training.optimizer import Adam
from keras_transformer.training.schedule import InverseSquareRoot

PAPER = {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-9}


def weights_on_the_way(optimizer: keras.optimizers.Optimizer) -> list[list[Any]]:
    """Of a small network, after each of nine steps."""
    keras.utils.set_random_seed(7)
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(3)])
    model.compile(optimizer, "mse", jit_compile=False)
    inputs, labels = np.random.default_rng(8).normal(size=(2, 9, 16, 5)).astype(np.float32)
    seen = []
    for batch, label in zip(inputs, labels[..., :3], strict=True):
        model.train_on_batch(batch, label)
        seen.append(model.get_weights())
    return seen


@pytest.mark.parametrize(
    "options",
    [
        {"learning_rate": 1e-2},
        {"learning_rate": InverseSquareRoot(1e-2, 3), **PAPER, "global_clipnorm": 1.0},
        {"learning_rate": 1e-2, **PAPER, "gradient_accumulation_steps": 3},
    ],
    ids=["plain", "the paper's, clipped", "accumulated"],
)
def test_every_weight_goes_where_keras_adam_takes_it(options: dict[str, Any]) -> None:
    ours, theirs = (weights_on_the_way(kind(**options)) for kind in (Adam, keras.optimizers.Adam))
    for step, (our, their) in enumerate(zip(ours, theirs, strict=True)):
        for one, other in zip(our, their, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-6, err_msg=f"step {step}")
    assert np.abs(ours[-1][0] - ours[0][0]).max() > 1e-2  # they did move
