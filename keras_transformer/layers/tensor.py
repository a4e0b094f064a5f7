"""Types of tensors and shapes, and operations on them that layers share."""

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
    """Return the symbolic output of a call, found by tracing it, in the layer's compute dtype.

    The call is traced because the output may depend on an argument, and to report a wrong mask at once. The
    dtype is set because the PyTorch backend traces with float32 variables under every policy.
    """
    traced = keras.Operation.compute_output_spec(layer, *args, **kwargs)
    return keras.tree.map_structure(
        lambda output: keras.KerasTensor(output.shape, dtype=layer.compute_dtype), traced
    )


def known(tensor: Tensor) -> NDArray[Any] | None:
    """Return the values of a tensor, or None while a graph is traced: they are not known then."""
    try:
        return np.asarray(ops.convert_to_numpy(tensor))
    except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError):
        return None  # each backend raises an exception type of its own


def looked_up(table: Tensor, indices: Tensor) -> Tensor:
    """Look up rows of a table (N, D): integers of any shape (...) -> (..., D)."""
    # The reshape copies nothing, but makes TensorFlow's gradient dense. A sparse gradient has a row for each
    # occurrence of an index, and Keras' Adam and clipping would square these rows before adding them up.
    return ops.take(ops.reshape(table, table.shape), indices, axis=0)
