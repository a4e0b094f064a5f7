"""The worked examples: inputs and words are written down, every result is computed by the layers.

Keras is loaded when the first example is asked for, and showing one computes no other.
"""

from importlib import import_module

from keras_transformer.viz.walkthrough.content import WorkedExample

#: In the order in which they are told: the module and the function that builds the example.
EXAMPLES = (
    ("attention", "self_attention"),
    ("attention", "scaling"),
    ("positions", "positions"),
    ("normalisation", "normalisation"),
    ("masks", "masks"),
    ("attention", "masked_self_attention"),
    ("model", "shapes"),
    ("attention", "weighted_sum"),
    ("model", "last_layer"),
)


def worked_example(number: int) -> WorkedExample:
    """Example `number`, counted from 1."""
    if not 1 <= number <= len(EXAMPLES):
        raise ValueError(f"the examples are numbered 1 to {len(EXAMPLES)}; got {number}.")
    module, function = EXAMPLES[number - 1]
    return getattr(import_module(f"{__name__}.{module}"), function)()
