"""Activations that Keras has no name for."""

import keras

from keras_transformer.layers.tensor import Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
def gelu_tanh(x: Tensor) -> Tensor:
    """Compute the approximation of GELU with a tanh: x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2."""
    return keras.ops.gelu(x, approximate=True)


@keras.saving.register_keras_serializable(package="keras_transformer")
def gelu_erf(x: Tensor) -> Tensor:
    """Compute GELU as x (1 + erf(x / √2)) / 2. Keras writes it with erfc, for which ONNX has no operator."""
    return 0.5 * x * (1 + keras.ops.erf(x * 0.5**0.5))
