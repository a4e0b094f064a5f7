"""Who may look at whom: padding, the future, and both."""

import numpy as np
from keras import ops

from keras_transformer.layers import causal_mask, padding_mask, scaled_dot_product_attention
from keras_transformer.viz.walkthrough.content import (
    ExampleStep,
    Picture,
    Table,
    WorkedExample,
    features,
    table,
)


def masks() -> WorkedExample:
    """Compute example 5: the two masks, their combination, and a row that may look at nothing."""
    ids = np.array([[1, 2, 3, 0]])
    tokens = ["1", "2", "3", "0 (pad)"]
    places = features(3)
    padding, causal = padding_mask(ids), causal_mask(3)
    everywhere = ops.broadcast_to(padding, (1, 4, 4))
    combined = padding & causal_mask(4)
    # Hidden from both sides: nobody looks at the padding, and the padding looks at nobody.
    short = padding_mask(np.array([[1, 2, 0]]))
    both_sides = short & ops.swapaxes(short, 1, 2) & causal_mask(3)
    x = np.array([[[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]]], "float32")
    output, weights = map(ops.convert_to_numpy, scaled_dot_product_attention(x, x, x, both_sides))
    short_tokens = ["1", "2", "0 (pad)"]
    steps = (
        ExampleStep(
            "Sentences in a batch are filled up with the id 0 to one length. The padding mask is 1 where "
            "there is a real token.",
            "padding = (ids ≠ 0)",
            _binary(padding[0], ["mask"], tokens),
        ),
        ExampleStep(
            "As a matrix: whoever looks, every row, may look at the three real tokens.",
            table=_binary(everywhere[0], tokens, tokens),
            picture=_picture("padding-mask", "Padding mask", everywhere[0], tokens),
        ),
        ExampleStep(
            "The look-ahead mask, also called causal: position t sees itself and what came before.",
            "causal(t, s) = (s ≤ t)",
            _binary(causal[0], places, places),
            picture=_picture("causal-mask", "Look-ahead mask", causal[0], places),
        ),
        ExampleStep(
            "Both: 1 where both are 1. This is what the decoder uses.",
            "padding & causal",
            _binary(combined[0], tokens, tokens),
            picture=_picture("combined-mask", "Padding and look-ahead", combined[0], tokens),
            remark="The padded row may still look at real tokens. That does no harm: nobody looks at it.",
        ),
        ExampleStep(
            "If the padding's own row is hidden too, a row is left that may look at nothing.",
            table=_binary(both_sides[0], short_tokens, short_tokens),
            picture=_picture("hidden-row-mask", "A row that sees nothing", both_sides[0], short_tokens),
        ),
        ExampleStep(
            "A softmax of nothing but −∞ is 0/0, not a number (NaN), and one NaN ruins a whole training run. "
            "The layers of this package give zeros instead. Here the weights for the vectors of example 1:",
            "weights = softmax(masked),  0 where there is nothing to look at",
            table(weights[0], short_tokens, short_tokens),
        ),
        ExampleStep("And the outputs.", "output = weights V", table(output[0], short_tokens, features(4))),
    )
    return WorkedExample(
        "Masks",
        "A mask says who may look at whom: 1 yes, 0 no. A row is the position that looks, a column the "
        "position looked at.",
        steps,
        "import numpy as np\n"
        "from keras_transformer import causal_mask, padding_mask\n\n"
        "mask = padding_mask(np.array([[1, 2, 3, 0]])) & causal_mask(4)",
    )


def _binary(mask: np.ndarray, rows: list[str], columns: list[str]) -> Table:
    return table(ops.convert_to_numpy(mask).astype(int), rows, columns)


def _picture(name: str, title: str, mask: np.ndarray, tokens: list[str]) -> Picture:
    return Picture(name, "mask", title, _binary(mask, tokens, tokens))
