"""Sinusoidal positions by hand, and what they look like in a wider model."""

import numpy as np
from keras import ops

from keras_transformer.layers import PositionalEncoding
from keras_transformer.viz.walkthrough.content import WorkedExample, features, table, told

# What the heat map shows: long and wide enough to see the waves.
LENGTH, WIDTH = 64, 128


def encoding(length: int, width: int) -> np.ndarray:
    """Return the positional encoding (length, width): the layer's output for an input of zeros."""
    return ops.convert_to_numpy(PositionalEncoding(length)(np.zeros((1, length, width), "float32")))[0]


def positions() -> WorkedExample:
    """Compute example 3: the encoding of four positions, added to two words."""
    words = ["The", "cat"]
    x = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]], "float32")
    width = x.shape[1]
    small, wide = encoding(4, width), encoding(LENGTH, WIDTH)
    summed = ops.convert_to_numpy(PositionalEncoding()(x[None]))[0]
    numbers = features(LENGTH)
    alike = ops.convert_to_numpy(ops.matmul(wide, wide.T))
    tables = {
        "small": table(small, features(4), features(width), "pos"),
        "summed": table(summed, words, features(width)),
        "wide": table(wide, numbers, features(WIDTH)),
        "alike": table(alike, numbers, numbers),
    }
    return told(
        "positions",
        tables,
        width=width,
        length=LENGTH,
        wide=WIDTH,
        first=small[1],
        meanings=" and ".join(f"{word} = {_row(row)}" for word, row in zip(words, x, strict=True)),
        cat=x[1, 1],
        sum=summed[1, 1],
    )


def _row(numbers: np.ndarray) -> str:
    return "[" + " ".join(f"{number:g}" for number in numbers) + "]"
