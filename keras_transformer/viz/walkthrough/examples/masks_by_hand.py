"""Who may look at whom: padding, the future, and both."""

import numpy as np
from keras import ops

from keras_transformer.layers import causal_mask, padding_mask, scaled_dot_product_attention
from keras_transformer.viz.walkthrough.content import Table, WorkedExample, features, table, told


def masks() -> WorkedExample:
    """Compute example 5: the two masks, their combination, and a row that may look at nothing."""
    ids = np.array([[1, 2, 3, 0]])
    tokens = ["1", "2", "3", "0 (pad)"]
    places = features(3)
    padding, causal = padding_mask(ids), causal_mask(3)
    everywhere = ops.broadcast_to(padding, (1, 4, 4))
    combined = padding & causal_mask(4)
    # Hidden from both sides: no position attends to padding, and padding attends to no position.
    short = padding_mask(np.array([[1, 2, 0]]))
    both_sides = short & ops.swapaxes(short, 1, 2) & causal_mask(3)
    x = np.array([[[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]]], "float32")
    output, weights = map(ops.convert_to_numpy, scaled_dot_product_attention(x, x, x, both_sides))
    short_tokens = ["1", "2", "0 (pad)"]
    tables = {
        "padding": _binary(padding[0], ["mask"], tokens),
        "everywhere": _binary(everywhere[0], tokens, tokens),
        "causal": _binary(causal[0], places, places),
        "combined": _binary(combined[0], tokens, tokens),
        "both_sides": _binary(both_sides[0], short_tokens, short_tokens),
        "weights": table(weights[0], short_tokens, short_tokens),
        "output": table(output[0], short_tokens, features(4)),
    }
    return told("masks", tables)


def _binary(mask: np.ndarray, rows: list[str], columns: list[str]) -> Table:
    return table(ops.convert_to_numpy(mask).astype(int), rows, columns)
