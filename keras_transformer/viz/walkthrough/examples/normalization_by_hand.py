"""Layer normalisation by hand, and beside it batch normalisation; in float64, so that all six decimals count.

B rows, D width.
"""

import keras
import numpy as np
from keras import ops

from keras_transformer.viz.walkthrough.content import ExampleStep, WorkedExample, features, table

EPSILON = 1e-5


def normalisation() -> WorkedExample:
    """Compute example 4: one row normalised; then a batch, of which other rows change."""
    x = np.array([2, 4, 6, 8], "float64")
    rows = ["a", "b", "c"]
    columns = features(len(x))
    first = np.array([x, [1, 3, 5, 7], [3, 5, 7, 9]], "float64")
    second = np.array([x, [8, 6, 4, 2], [5, 5, 5, 5]], "float64")
    mean, variance = x.mean(), x.var()
    deviations = ", ".join(f"{value - mean:g}" for value in x)
    squares = " + ".join(f"{(value - mean) ** 2:g}" for value in x)
    steps = (
        ExampleStep(
            "The mean and the variance of the row's own four numbers. The variance divides by n, not n − 1.",
            "μ = sum x / n,  σ^2 = sum (x − μ)^2 / n",
            table([[mean, variance]], ["x"], ["μ", "σ²"]),
            by_hand=f"x = [2 4 6 8]: less the mean {deviations}; ({squares}) / 4 = {variance:g}",
        ),
        ExampleStep(
            "Less the mean, divided by the deviation, times γ = 1, plus β = 0, the two that are learned. "
            "ε = 0.00001 keeps the division safe.",
            "y = γ (x − μ) / √(σ^2 + ε) + β",
            table(layer_norm(x[None]), ["y"], columns),
            by_hand=f"(2 − {mean:g}) / √{variance + EPSILON:.5f} = {layer_norm(x[None])[0, 0]:.6f}",
        ),
        ExampleStep(
            "Now a batch of three rows. The first one is the row from above.",
            table=table(first, rows, columns),
        ),
        ExampleStep(
            "Layer normalisation goes along each row.", table=table(layer_norm(first), rows, columns)
        ),
        ExampleStep(
            "Batch normalisation goes down each column: it takes the mean and the variance of one dimension "
            "over all rows.",
            table=table(batch_norm(first), rows, columns),
            by_hand="dimension 0: 2, 1, 3 have mean 2, so row a, which is 2, becomes 0",
        ),
        ExampleStep(
            "The same row a in other company: rows b and c change.", table=table(second, rows, columns)
        ),
        ExampleStep(
            "Layer normalisation does not notice: row a is what it was.",
            table=table(layer_norm(second), rows, columns),
        ),
        ExampleStep(
            "Batch normalisation does: row a is another one.",
            table=table(batch_norm(second), rows, columns),
            remark="So a sentence's result would depend on the sentences it is translated with. With layer "
            "normalisation it never does.",
        ),
    )
    return WorkedExample(
        "Layer normalisation",
        "After each part of a block the numbers are brought back to mean 0 and variance 1, each position on "
        "its own, so that they neither fade nor explode on the way up.",
        steps,
        "import keras\nimport numpy as np\n\n"
        "layer = keras.layers.LayerNormalization(epsilon=1e-5)\n"
        'output = layer(np.array([[2, 4, 6, 8]], "float32"))',
    )


def layer_norm(x: np.ndarray) -> np.ndarray:
    """Normalize each row of (B, D)."""
    return ops.convert_to_numpy(keras.layers.LayerNormalization(epsilon=EPSILON, dtype="float64")(x))


def batch_norm(x: np.ndarray) -> np.ndarray:
    """Normalize each column of (B, D), as in training."""
    return ops.convert_to_numpy(
        keras.layers.BatchNormalization(epsilon=EPSILON, dtype="float64")(x, training=True)
    )
