"""Types of tensors and shapes, and operations on them that layers share."""

from typing import Any, TypeAlias

import keras
import numpy as np
from keras import ops
from keras.src.backend.common.symbolic_scope import in_symbolic_scope  # Keras exports no name for it
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
    if in_symbolic_scope():
        return None
    try:
        return np.asarray(ops.convert_to_numpy(tensor))
    except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError):
        return None  # each backend raises an exception type of its own


def whole(name: str, values: Any, stop: int, remedy: str = "", floats: bool = False) -> Tensor:
    """Return values as integers from 0 to stop - 1.

    In a graph values are not known. There floats are refused, unless `floats` allows them: then their
    fractions are cut off, as in keras.layers.Embedding.

    Raises:
        ValueError: If a value is known to be outside or fractional, or floats are not known.
    """
    values = values if hasattr(values, "dtype") else ops.convert_to_tensor(values)
    numbers = known(values)
    if numbers is not None:
        wrong = numbers[(numbers % 1 != 0) | (numbers < 0) | (numbers >= stop)]
        if wrong.size:
            raise ValueError(f"{name} must be whole numbers from 0 to {stop - 1}; got {wrong[0]}.{remedy}")
    elif not (floats or in_symbolic_scope()) and keras.backend.is_float_dtype(values.dtype):
        raise ValueError(
            f'{name} must be integers; got {values.dtype}. Pass keras.ops.cast({name}, "int32").'
        )
    is_index = keras.backend.standardize_dtype(values.dtype) in ("int32", "int64")
    return values if is_index else ops.cast(values, "int32")


def fits(shape: Shape, wanted: Shape, broadcast: bool = False) -> bool:
    """Return whether a static shape may be the wanted one, in which None is any length.

    With `broadcast`, leading dimensions may be missing, and any may be 1.
    """
    if broadcast:
        wanted = wanted[max(len(wanted) - len(shape), 0) :]
    return len(shape) == len(wanted) and all(
        size is None or other is None or size == other or (broadcast and size == 1)
        for size, other in zip(shape, wanted, strict=True)
    )


def looked_up(table: Tensor, indices: Tensor) -> Tensor:
    """Look up rows of a table (N, D): integers of any shape (...) -> (..., D)."""
    # The reshape copies nothing, but makes TensorFlow's gradient dense. A sparse gradient has a row for each
    # occurrence of an index, and Keras' Adam and clipping would square these rows before adding them up.
    return ops.take(ops.reshape(table, table.shape), indices, axis=0)
