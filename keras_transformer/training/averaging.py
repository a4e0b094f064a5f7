"""Average of the weights, which is validated and saved: it varies less than the weights."""

from collections.abc import Iterable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray


def mean(states: Iterable[Sequence[NDArray[Any]]]) -> list[NDArray[np.float32]]:
    """Return the mean of several states of the same weights, summed in float32, one state at a time."""
    count = 0
    total: list[NDArray[np.float32]] = []
    for count, state in enumerate(states, start=1):
        weights = [np.asarray(weight, np.float32) for weight in state]
        total = weights if count == 1 else [one + other for one, other in zip(total, weights, strict=True)]
    return [weight / np.float32(count) for weight in total]


class MovingAverage(keras.callbacks.Callback):
    """Exponential moving average: average = decay x average + (1 - decay) x weights after each step.

    The decay grows over the first steps, (1 + n) / (10 + n), so that the initial weights lose their
    influence.

    Args:
        averaged: A separate model for the average, in float32 under every policy of the trained model.
        decay: Final decay, in [0, 1).
        done: Number of steps that were taken before.
        every: Number of batches of a step.
    """

    def __init__(self, averaged: keras.Model, decay: float, done: int = 0, every: int = 1) -> None:
        """`done` steps were taken before; a step is `every` batches."""
        super().__init__()
        self.averaged = averaged
        self.decay = decay
        self.batches = done * every
        self.every = every

    def set_model(self, model: keras.Model) -> None:
        """Pair the weights of the trained model with those of the average."""
        super().set_model(model)
        pairs = list(zip(self.averaged.trainable_variables, model.trainable_variables, strict=True))

        @tf.function(autograph=False)
        def update(decay: Any) -> None:
            for average, weight in pairs:
                average.assign(decay * average.value + (1.0 - decay) * weight.value)

        self._update = update

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Update the average at the end of a step."""
        self.batches += 1
        if self.batches % self.every == 0:
            steps = self.batches // self.every
            self._update(tf.constant(min(self.decay, (1 + steps) / (10 + steps)), tf.float32))
