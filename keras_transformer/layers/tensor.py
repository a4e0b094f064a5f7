"""What a layer takes and gives back."""

from typing import Any, TypeAlias

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

#: A tensor of the Keras backend in use, or a symbolic `keras.KerasTensor`. The backends share no type.
Tensor: TypeAlias = Any
#: A static shape: None where a length is only known when the layer runs.
Shape: TypeAlias = tuple[int | None, ...]


def traced_spec(layer: keras.layers.Layer, *args: Any, **kwargs: Any) -> Any:
    """What a symbolic call gives, found by tracing it, in the layer's own type.

    Traced: what comes out may depend on an argument, and a wrong mask is told at once. In the layer's type:
    PyTorch's backend traces with float32 variables whatever the policy is.
    """
    traced = keras.Operation.compute_output_spec(layer, *args, **kwargs)
    return keras.tree.map_structure(
        lambda output: keras.KerasTensor(output.shape, dtype=layer.compute_dtype), traced
    )


def known(tensor: Tensor) -> NDArray[Any] | None:
    """The values of a tensor, or None while a graph is traced: it has none there."""
    try:
        return np.asarray(ops.convert_to_numpy(tensor))
    except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError):
        return None  # each backend raises its own


def looked_up(table: Tensor, indices: Tensor) -> Tensor:
    """A table (N, D) and integers of any shape (...) -> their rows (..., D)."""
    # Reshaped to what it is, which copies nothing: TensorFlow's gradient is then dense. As rows, one for each
    # time that an index comes, Keras' Adam and its clipping would square them before they are added up.
    return ops.take(ops.reshape(table, table.shape), indices, axis=0)
