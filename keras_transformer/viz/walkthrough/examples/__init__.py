"""The worked examples: inputs and words are written down, every result is computed by the layers.

Keras is loaded when the first example is computed. Each example is computed alone, when it is shown.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keras_transformer.viz.walkthrough.content import WorkedExample  # it needs NumPy

#: Module and function of each example, in their order.
EXAMPLES = (
    ("attention_by_hand", "self_attention"),
    ("attention_by_hand", "scaling"),
    ("positions_by_hand", "positions"),
    ("normalization_by_hand", "normalization"),
    ("masks_by_hand", "masks"),
    ("attention_by_hand", "masked_self_attention"),
    ("model_by_hand", "shapes"),
    ("attention_by_hand", "weighted_sum"),
    ("model_by_hand", "last_layer"),
)


def worked_example(number: int) -> "WorkedExample":
    """Compute example `number`, counted from 1."""
    if not 1 <= number <= len(EXAMPLES):
        raise ValueError(f"the examples are numbered 1 to {len(EXAMPLES)}; got {number}.")
    module, function = EXAMPLES[number - 1]
    return getattr(import_module(f"{__name__}.{module}"), function)()
