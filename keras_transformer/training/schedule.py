"""How the learning rate rises and falls. Every schedule warms up in a straight line to its peak.

A step is `every` batches: an optimizer that accumulates gradients hands over the batches that are done.
"""

import math
from typing import Any

import keras
from keras import ops

from keras_transformer.layers.tensor import Tensor


class WarmUp(keras.optimizers.schedules.LearningRateSchedule):
    """Step 1 to warm_up: peak x step / warm_up; from there peak x what `decay` says."""

    def __init__(self, peak: float, warm_up: int, every: int = 1) -> None:
        super().__init__()
        if not peak > 0 or warm_up < 1:  # "not >" and not "<=": NaN is refused too
            raise ValueError(f"peak must be above 0 and warm_up at least 1; got {peak} and {warm_up}.")
        self.peak = peak
        self.warm_up = warm_up
        self.every = every

    def __call__(self, step: Tensor) -> Tensor:
        step = ops.cast(step // self.every, "float32") + 1.0  # Keras counts what is done
        return self.peak * ops.where(step < self.warm_up, step / self.warm_up, self.decay(step))

    def decay(self, step: Tensor) -> Tensor:
        """The share of the peak at a step past the warm-up."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        return {"peak": self.peak, "warm_up": self.warm_up, "every": self.every}


@keras.saving.register_keras_serializable(package="keras_transformer")
class InverseSquareRoot(WarmUp):
    """The paper's schedule, named by its peak: peak x sqrt(warm_up / step).

    The paper's own formula, width^-0.5 min(step^-0.5, step x warm_up^-1.5), peaks at (width x warm_up)^-0.5.
    """

    def decay(self, step: Tensor) -> Tensor:
        return ops.sqrt(self.warm_up / step)


@keras.saving.register_keras_serializable(package="keras_transformer")
class Cosine(WarmUp):
    """Half a cosine from the peak down to 0 at step `steps`; only the peak where warm_up is steps."""

    def __init__(self, peak: float, warm_up: int, steps: int, every: int = 1) -> None:
        super().__init__(peak, warm_up, every)
        if steps < warm_up:
            raise ValueError(f"steps must be at least warm_up; got {steps} and {warm_up}.")
        self.steps = steps

    def decay(self, step: Tensor) -> Tensor:
        steps = max(self.steps - self.warm_up, 1)
        done = ops.minimum((step - self.warm_up) / steps, 1.0)
        return 0.5 * (1.0 + ops.cos(math.pi * done))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "steps": self.steps}
