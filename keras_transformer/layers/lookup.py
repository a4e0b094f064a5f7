"""Rows of a trained table, by their numbers."""

from keras import ops

from keras_transformer.layers.tensor import Tensor


def looked_up(table: Tensor, indices: Tensor) -> Tensor:
    """A table (N, D) and integers of any shape (...) -> their rows (..., D)."""
    # Reshaped to what it is, which copies nothing: TensorFlow's gradient is then dense. As rows, one for each
    # time that an index comes, Keras' Adam and its clipping would square them before they are added up.
    return ops.take(ops.reshape(table, table.shape), indices, axis=0)
