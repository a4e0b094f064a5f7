"""Layer normalization by hand, and beside it batch normalization; in float64, so that all six decimals count.

B rows, D width.
"""

import keras
import numpy as np
from keras import ops

from keras_transformer.viz.walkthrough.content import WorkedExample, features, table, told

EPSILON = 1e-5


def normalization() -> WorkedExample:
    """Compute example 4: one row normalized; then a batch, of which other rows change."""
    x = np.array([2, 4, 6, 8], "float64")
    rows = ["a", "b", "c"]
    columns = features(len(x))
    first = np.array([x, [1, 3, 5, 7], [3, 5, 7, 9]], "float64")
    second = np.array([x, [8, 6, 4, 2], [5, 5, 5, 5]], "float64")
    mean, variance = x.mean(), x.var()
    normal = layer_norm(x[None])
    tables = {
        "moments": table([[mean, variance]], ["x"], ["μ", "σ²"]),
        "normal": table(normal, ["y"], columns),
        "batch": table(first, rows, columns),
        "layer": table(layer_norm(first), rows, columns),
        "columns": table(batch_norm(first), rows, columns),
        "other_batch": table(second, rows, columns),
        "other_layer": table(layer_norm(second), rows, columns),
        "other_columns": table(batch_norm(second), rows, columns),
    }
    return told(
        "normalization",
        tables,
        mean=mean,
        variance=variance,
        deviations=", ".join(f"{value - mean:g}" for value in x),
        squares=" + ".join(f"{(value - mean) ** 2:g}" for value in x),
        divisor=variance + EPSILON,
        first=normal[0, 0],
    )


def layer_norm(x: np.ndarray) -> np.ndarray:
    """Normalize each row of (B, D)."""
    return ops.convert_to_numpy(keras.layers.LayerNormalization(epsilon=EPSILON, dtype="float64")(x))


def batch_norm(x: np.ndarray) -> np.ndarray:
    """Normalize each column of (B, D), as in training."""
    return ops.convert_to_numpy(
        keras.layers.BatchNormalization(epsilon=EPSILON, dtype="float64")(x, training=True)
    )
