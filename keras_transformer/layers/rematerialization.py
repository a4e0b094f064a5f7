"""Gradient checkpointing: layers that keras.RematScope recomputes in the backward pass."""

import inspect
from collections.abc import Callable
from typing import Any

import keras
from keras import ops


class Rematerializable(keras.layers.Layer):
    """Base class of layers that can be recomputed whatever arguments they are called with.

    TensorFlow recomputes functions of positional tensors alone, and Keras passes masks by name, even if they
    are None. Without this class, a layer that takes a mask fails under keras.RematScope.
    """

    def rematerialized_call(self, layer_call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Wrap a call so that the backward pass recomputes it as a function of its float tensors."""
        given = inspect.signature(layer_call).bind(*args, **kwargs).arguments
        sequences = {name: value for name, value in given.items() if _has_gradient(value)}
        settings = {name: value for name, value in given.items() if name not in sequences}

        def of_sequences(*values: Any) -> Any:
            return layer_call(**dict(zip(sequences, values, strict=True)), **settings)

        recomputed = super().rematerialized_call(of_sequences, *args, **kwargs)
        return lambda *_, **__: recomputed(*sequences.values())


def _has_gradient(value: Any) -> bool:
    return ops.is_tensor(value) and keras.backend.is_float_dtype(value.dtype)
