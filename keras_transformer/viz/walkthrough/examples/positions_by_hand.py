"""Sinusoidal positions by hand, and what they look like in a wider model."""

import numpy as np
from keras import ops

from keras_transformer.layers import PositionalEncoding
from keras_transformer.viz.walkthrough.content import ExampleStep, Picture, WorkedExample, features, table

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
    steps = (
        ExampleStep(
            f"Each position is a vector of width {width}: a sine and a cosine for each pair of dimensions. "
            "The first pair turns fast, the second a hundred times slower.",
            "PE(pos, 2i) = sin(pos / 10000^(2i/d)),  PE(pos, 2i+1) = cos(pos / 10000^(2i/d))",
            table(small, features(4), features(width), "pos"),
            by_hand=f"position 1: sin 1 = {small[1, 0]:.6f}, cos 1 = {small[1, 1]:.6f}, "
            f"sin 0.01 = {small[1, 2]:.6f}, cos 0.01 = {small[1, 3]:.6f}",
        ),
        ExampleStep(
            "The position is added to what the word means: "
            + " and ".join(f"{word} = {_row(row)}" for word, row in zip(words, x, strict=True))
            + " at positions 0 and 1 become",
            "x + PE",
            table(summed, words, features(width)),
            by_hand=f"cat, dimension 1: {x[1, 1]:g} + {small[1, 1]:.6f} = {summed[1, 1]:.6f}",
            remark="PE(0) is not zero: its cosines are 1, so even the first word is changed. "
            "And angles are in radians.",
        ),
        ExampleStep(
            f"The same for {LENGTH} positions and width {WIDTH}: fast waves on the left, slow ones on the "
            "right. Read a row and you have the fingerprint of a position.",
            picture=Picture(
                "positions", "positions", "Sinusoidal positions", table(wide, numbers, features(WIDTH))
            ),
        ),
        ExampleStep(
            "How alike are two positions? Their dot product depends on nothing but their distance: every "
            "diagonal has one colour. That is how a model can learn to look “two words back”.",
            "PE(p) · PE(q)",
            picture=Picture(
                "similarity", "similarity", "Likeness of two positions", table(alike, numbers, numbers)
            ),
            remark="The other kind is learned: a table of weights, one row for each position, trained with "
            'the rest, as PositionalEncoding(kind="learned") does it. It knows no position past its end.',
        ),
    )
    return WorkedExample(
        "Where a word stands",
        "Attention alone sees a bag of words: shuffle them, and the outputs are merely shuffled. So each "
        "word is told its place before it enters.",
        steps,
        "import numpy as np\n"
        "from keras_transformer import PositionalEncoding\n\n"
        'x = np.array([[[.1, .2, .3, .4], [.5, .6, .7, .8]]], "float32")\n'
        "output = PositionalEncoding()(x)",
    )


def _row(numbers: np.ndarray) -> str:
    return "[" + " ".join(f"{number:g}" for number in numbers) + "]"
