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
from keras_transformer.viz.walkthrough.content import WorkedExample, features, table, told

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
    tables = {
        "x": table(x, words, features(width)),
        "scores": table(scores, words, words),
        "scaled": table(scaled, words, words),
        "weights": table(weights, words, words),
        "output": table(output, words, features(width)),
    }
    return told(
        "self_attention",
        tables,
        width=width,
        root=math.sqrt(width),
        sat=f"{_products(x[2], x[2])} = {scores[2, 2]:g}",
        softmax=_softmax_by_hand("The", scaled[0]),
        unscaled=_row(unscaled[0]),
        the=f"{_products(weights[0], x[:, 0])} = {output[0, 0]:.6f}",
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
    tables = {
        "scores": table([scores.tolist(), scaled.tolist()], ["scores", "scaled"], names),
        "weights": table(compared, shown, names),
        "slopes": table([[row[0] * row[1]] for row in compared], shown, ["slope"]),
    }
    return told("scaling", tables, softmax=_softmax_by_hand("scaled", scaled))


def masked_self_attention() -> WorkedExample:
    """Compute example 6: four positions, the last one padding, with a causal mask."""
    x = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.9, 1.0, 1.1, 1.2], [0] * 4], "float32")
    positions = ["0", "1", "2", "3 (pad)"]
    width = x.shape[1]
    mask = ops.convert_to_numpy(padding_mask(np.array([[1, 2, 3, 0]])) & causal_mask(4))[0]
    output, weights = attend(x, mask)
    scores = x @ x.T
    scaled = scores / math.sqrt(width)
    tables = {
        "x": table(x, positions, features(width)),
        "scores": table(scores, positions, positions),
        "scaled": table(scaled, positions, positions),
        "masked": table(np.where(mask, scaled, -np.inf), positions, positions),
        "weights": table(weights, positions, positions),
        "output": table(output, positions, features(width)),
    }
    return told("masked_self_attention", tables, softmax=_softmax_by_hand("position 1", scaled[1][:2]))


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
    tables = {
        "weights": table(weights, words, words),
        "summed": table(np.hstack([weights, weights.sum(1, keepdims=True)]), words, [*words, "sum"]),
        "same": table(same, words, words),
        "mixed": table(mixed, words, features(2)),
    }
    return told(
        "weighted_sum",
        tables,
        mixtures="; ".join(_mixture(words, index, row) for index, row in enumerate(weights)),
        meanings=", ".join(f"{word} {_row(row)}" for word, row in zip(words, meanings, strict=True)),
        python=f"{_products(weights[0], meanings[:, 0])} = {mixed[0, 0]:g}",
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
