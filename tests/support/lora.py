"""LoRA on all of a model, as a fine-tuning leaves it."""

import keras
import numpy as np


def with_lora(model: keras.Model, rank: int = 2) -> keras.Model:
    """The model with a change of low rank, which is not zero, on every product and embedding."""
    rng = np.random.default_rng(1)
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.Dense | keras.layers.Embedding):
            layer.enable_lora(rank)
            (change,) = [weight for weight in layer.weights if weight.name.endswith("_b")]
            change.assign(rng.normal(0, 0.3, change.shape))
    return model
