"""Attention by hand: self-attention, why its scores are scaled, masked, and as a weighted sum.

T length, S keys, D width.
"""

import math
from typing import Any

import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_transformer.layers import (
    MultiHeadSelfAttention,
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
)
from keras_transformer.viz.walkthrough.content import ExampleStep, Picture, WorkedExample, features, table

Array = NDArray[np.float32]


def plain_self_attention(width: int) -> MultiHeadSelfAttention:
    """Return the layer with one head and W_Q = W_K = W_V = W_O = I, which leaves attention alone."""
    layer = MultiHeadSelfAttention(num_heads=1, dropout=0.0)
    layer.build((None, None, width))
    identity = np.eye(width)
    layer.query_key_value_projection.set_weights([np.tile(identity, 3), np.zeros(3 * width)])
    layer.output_projection.set_weights([identity, np.zeros(width)])
    return layer


def self_attention() -> WorkedExample:
    """Compute example 1: three words look at each other."""
    words = ["The", "cat", "sat"]
    x = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]], "float32")
    width = x.shape[1]
    output, weights = attend(x)
    scores = x @ x.T
    scaled = scores / math.sqrt(width)
    unscaled = ops.convert_to_numpy(ops.softmax(scores))
    steps = (
        ExampleStep(
            "Each word is a vector of four numbers: the rows of X.", table=table(x, words, features(width))
        ),
        ExampleStep(
            "Three matrices turn X into queries, keys and values. Here all three are the identity, so that "
            "Q = K = V = X, and nothing hides what attention itself does.",
            "Q = X W_Q,  K = X W_K,  V = X W_V",
        ),
        ExampleStep(
            "How well does each word's query match each word's key? The dot product says so. "
            "A row is a word that looks; a column is a word looked at.",
            "scores = Q K^T",
            table(scores, words, words),
            by_hand=f"sat · sat = {_products(x[2], x[2])} = {scores[2, 2]:g}",
        ),
        ExampleStep(
            f"The scores are divided by the square root of the width of a key, √{width} = "
            f"{math.sqrt(width):g}. Example 2 shows what that is good for.",
            "scaled = Q K^T / √d_k",
            table(scaled, words, words),
        ),
        ExampleStep(
            "The softmax of each row makes weights of the scores: all positive, together 1.",
            "weights = softmax(scaled)",
            table(weights, words, words),
            by_hand=_softmax_by_hand("The", scaled[0]),
            picture=Picture("self-attention", "weights", "Who looks at whom", table(weights, words, words)),
            remark="A common slip is to take the softmax of the scores before they are divided: "
            f"for The that gives {_row(unscaled[0])}, and weights that are too sharp.",
        ),
        ExampleStep(
            "Each word's output is the sum of all values, each times its weight: a word that knows its "
            "neighbours.",
            "output = weights V",
            table(output, words, features(width)),
            by_hand=f"The, dimension 0: {_products(weights[0], x[:, 0])} = {output[0, 0]:.6f}",
        ),
    )
    return WorkedExample(
        "Self-attention over “The cat sat”",
        "Every word asks all words, itself included, how much they matter to it, and takes from each one "
        "that much. This is the heart of the Transformer, small enough to check with a pencil.",
        steps,
        "import numpy as np\n"
        "from keras_transformer import scaled_dot_product_attention\n\n"
        'x = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]], "float32")\n'
        "output, weights = scaled_dot_product_attention(x, x, x)",
    )


def scaling() -> WorkedExample:
    """Compute example 2: two scores, with and without the division by √d."""
    query = np.array([[2, 0, 0, 0]], "float32")
    keys = np.array([[3, 0, 0, 0], [2, 0, 0, 0]], "float32")
    names = ["first key", "second key"]
    scores = (query @ keys.T)[0]
    scaled = scores / math.sqrt(query.shape[1])
    weights = ops.convert_to_numpy(scaled_dot_product_attention(query, keys, keys)[1])[0]
    unscaled, saturated = (
        ops.convert_to_numpy(ops.softmax(np.array(row, "float32")))
        for row in (scores, [10.0, 1.0])  # the second: a gap as it occurs in a wide model
    )
    compared = [weights, unscaled, saturated]
    shown = [f"softmax({_row(scaled)})", f"softmax({_row(scores)})", "softmax([10 1])"]
    slopes = [[row[0] * row[1]] for row in compared]
    steps = (
        ExampleStep(
            "A query and two keys of width 4 give these scores.",
            "scores = Q K^T,  scaled = scores / √4",
            table([scores.tolist(), scaled.tolist()], ["scores", "scaled"], names),
        ),
        ExampleStep(
            "The weights of the scaled scores, of the scores as they are, and of two scores further apart.",
            "weights = softmax(scaled)",
            table(compared, shown, names),
            by_hand=_softmax_by_hand("scaled", scaled),
        ),
        ExampleStep(
            "Learning needs a slope: how much the first weight p moves when its score moves a little is "
            "p (1 − p). Far apart, almost nothing is left of it.",
            "∂p / ∂score = p (1 − p)",
            table(slopes, shown, ["slope"]),
            remark="√4 is 2. Dot products of random vectors of width d spread like √d, so dividing by √d "
            "keeps the scores as far apart in a wide model as in a narrow one.",
        ),
    )
    return WorkedExample(
        "Why the scores are scaled",
        "Large scores drive the softmax into its corners: one key gets everything, the others get nothing, "
        "and the model stops learning.",
        steps,
        "import numpy as np\n"
        "from keras_transformer import scaled_dot_product_attention\n\n"
        'query = np.array([[2, 0, 0, 0]], "float32")\n'
        'keys = np.array([[3, 0, 0, 0], [2, 0, 0, 0]], "float32")\n'
        "_, weights = scaled_dot_product_attention(query, keys, keys)",
    )


def masked_self_attention() -> WorkedExample:
    """Compute example 6: four positions, the last one padding, nobody looks ahead."""
    x = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.9, 1.0, 1.1, 1.2], [0] * 4], "float32")
    positions = ["0", "1", "2", "3 (pad)"]
    width = x.shape[1]
    mask = ops.convert_to_numpy(padding_mask(np.array([[1, 2, 3, 0]])) & causal_mask(4))[0]
    output, weights = attend(x, mask)
    scores = x @ x.T
    scaled = scores / math.sqrt(width)
    steps = (
        ExampleStep(
            "Four positions; the last one is padding, all zeros. Again Q = K = V = X.",
            table=table(x, positions, features(width)),
        ),
        ExampleStep("The scores.", "scores = Q K^T", table(scores, positions, positions)),
        ExampleStep("Scaled by √4 = 2.", "scaled = Q K^T / √d_k", table(scaled, positions, positions)),
        ExampleStep(
            "What a position may not look at gets the score −∞: ahead of it, and padding. "
            "(The layer uses a very large negative number, which gives the same weights and no NaN.)",
            "masked = scaled where the mask is 1, −∞ where it is 0",
            table(np.where(mask, scaled, -np.inf), positions, positions),
        ),
        ExampleStep(
            "e^(−∞) = 0, so the softmax gives the hidden positions no weight at all, and shares all of it "
            "among the others.",
            "weights = softmax(masked)",
            table(weights, positions, positions),
            by_hand=_softmax_by_hand("position 1", scaled[1][:2]),
            picture=Picture(
                "masked-attention", "weights", "Masked self-attention", table(weights, positions, positions)
            ),
            remark="The padded row looks at the three real words with a third each, for its scores are all "
            "0. Its output is never used: nobody may look at it, and the loss leaves it out.",
        ),
        ExampleStep("The outputs.", "output = weights V", table(output, positions, features(width))),
    )
    return WorkedExample(
        "Masked self-attention",
        "The decoder writes from left to right, so a position must not see what comes after it; and nobody "
        "should look at padding. The mask does both, between the scores and the softmax.",
        steps,
        "import numpy as np\n"
        "from keras_transformer import causal_mask, padding_mask, scaled_dot_product_attention\n\n"
        "x = np.array([[[.1, .2, .3, .4], [.5, .6, .7, .8], [.9, 1, 1.1, 1.2], [0, 0, 0, 0]]], "
        '"float32")\n'
        "mask = padding_mask(np.array([[1, 2, 3, 0]])) & causal_mask(4)\n"
        "output, weights = scaled_dot_product_attention(x, x, x, mask=mask)",
    )


def weighted_sum() -> WorkedExample:
    """Compute example 8: the weights are given, and the output is read off them."""
    words = ["Python", "executes", "quickly"]
    given = np.array([[0.4, 0.4, 0.2], [0.3, 0.6, 0.1], [0.1, 0.1, 0.8]], "float32")
    one_hot = np.eye(len(words), dtype="float32")
    meanings = np.array([[1, 0], [0, 1], [1, 1]], "float32")
    # Keys that are one-hot hand the queries through as scores, and the softmax of log p is p.
    query = np.log(given) * math.sqrt(len(words))
    same, weights = map(ops.convert_to_numpy, scaled_dot_product_attention(query, one_hot, one_hot))
    mixed = ops.convert_to_numpy(scaled_dot_product_attention(query, one_hot, meanings)[0])
    steps = (
        ExampleStep(
            "The weights: row by row, who takes how much from whom. The last column is their sum.",
            table=table(np.hstack([weights, weights.sum(1, keepdims=True)]), words, [*words, "sum"]),
            picture=Picture("weighted-sum", "weights", "The weights", table(weights, words, words)),
        ),
        ExampleStep(
            "If every word's value is one-hot, a 1 in its own place, then the output is the weights "
            "themselves: "
            + "; ".join(_mixture(words, index, row) for index, row in enumerate(weights))
            + ".",
            "output = weights V,  V = I",
            table(same, words, words),
        ),
        ExampleStep(
            "With other values, the same weights mix those: "
            + ", ".join(f"{word} {_row(row)}" for word, row in zip(words, meanings, strict=True))
            + ".",
            "output = weights V",
            table(mixed, words, features(2)),
            by_hand=f"Python, dimension 0: {_products(weights[0], meanings[:, 0])} = {mixed[0, 0]:g}",
        ),
    )
    return WorkedExample(
        "Attention is a weighted sum",
        "Once the weights are known, attention is nothing but an average in which some count more.",
        steps,
        "import numpy as np\n\n"
        "weights = np.array([[.4, .4, .2], [.3, .6, .1], [.1, .1, .8]])\n"
        "values = np.array([[1, 0], [0, 1], [1, 1]])\n"
        "output = weights @ values",
    )


def attend(x: Array, mask: Any = None) -> tuple[Array, Array]:
    """Self-attention of one sequence by the plain layer: (T, D), (T, T) -> (T, D), (T, T)."""
    attention_mask = None if mask is None else mask[None]
    layer = plain_self_attention(x.shape[1])
    output, weights = layer(x[None], attention_mask=attention_mask, return_attention_scores=True)
    return ops.convert_to_numpy(output)[0], ops.convert_to_numpy(weights)[0, 0]


def _row(numbers: Any) -> str:
    return "[" + " ".join(f"{round(float(number), 6):g}" for number in numbers) + "]"


def _products(left: Any, right: Any) -> str:
    return " + ".join(
        f"{round(float(a), 6):g}·{round(float(b), 6):g}" for a, b in zip(left, right, strict=True)
    )


def _mixture(words: list[str], index: int, weights: Any) -> str:
    parts = " + ".join(f"{weight:.1f} {word}" for weight, word in zip(weights, words, strict=True))
    return f"{words[index]} becomes {parts}"


def _softmax_by_hand(name: str, scores: Any) -> str:
    powers = np.exp(np.asarray(scores, "float64"))
    terms = " + ".join(f"e^{float(score):g}" for score in np.round(scores, 6))
    values = " + ".join(f"{power:.4f}" for power in powers)
    total = powers.sum()
    return (
        f"{name}: {terms} = {values} = {total:.4f};  {powers[0]:.4f} / {total:.4f} = {powers[0] / total:.4f}"
    )
