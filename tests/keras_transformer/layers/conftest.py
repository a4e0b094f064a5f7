"""What the layer tests share: weights set by hand, a gradient on any backend, and a model of all layers."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from tests.support.layer_cases import Together


@pytest.fixture(scope="session")
def assign() -> Callable[..., None]:
    """assign(layer, {"inner/kernel": [[1.0]]}): those weights by the end of their path; every other kernel
    and bias zero. The normalisations keep scale one and shift zero."""

    def assign(layer: keras.layers.Layer, values: dict[str, Any]) -> None:
        for weight in layer.weights:
            if weight.name in ("kernel", "bias"):
                weight.assign(np.zeros(weight.shape))
        for ending, value in values.items():
            (weight,) = [weight for weight in layer.weights if weight.path.endswith("/" + ending)]
            weight.assign(np.reshape(value, weight.shape))

    return assign


@pytest.fixture(scope="session")
def gradient() -> Callable[..., np.ndarray]:
    """gradient(function, x): the gradient of the sum of function(x), whatever the backend."""

    def gradient(function: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
        def total(x: Any) -> Any:
            return ops.sum(ops.cast(function(x), "float32"))

        x = ops.convert_to_tensor(x)
        match keras.backend.backend():
            case "tensorflow":
                import tensorflow as tf

                with tf.GradientTape() as tape:
                    tape.watch(x)
                    result = total(x)
                found = tape.gradient(result, x)
            case "jax":
                import jax

                found = jax.grad(total)(x)
            case _:
                x = x.detach().clone().requires_grad_(True)
                total(x).backward()
                found = x.grad
        return ops.convert_to_numpy(ops.cast(found, "float32"))

    return gradient


@pytest.fixture(scope="session")
def together() -> Together:
    return Together()
