"""Weights with which the answers of a model that has learned nothing depend on the source."""

import keras


def enliven(model: keras.Model) -> None:
    """Larger than a fresh model's, and no bias is 0; keras.utils.set_random_seed decides which."""
    for weight in model.trainable_variables:
        if len(weight.shape) > 1:
            weight.assign(weight * 2.0)
        elif "beta" in weight.name or "bias" in weight.name:
            weight.assign(keras.random.normal(weight.shape) * 0.1)
