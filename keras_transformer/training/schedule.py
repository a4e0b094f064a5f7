"""How the learning rate rises and falls. Every schedule warms up in a straight line to its peak.

A step is `gradient_accumulation_steps` batches: an optimizer that accumulates gradients passes the number of
batches that are done.
"""

import math
from typing import Any, Self

import keras
from keras import ops

from keras_transformer.layers.arguments import arguments_of
from keras_transformer.layers.tensor import Tensor
from keras_transformer.settings import current_names
from keras_transformer.training.recipe import rise_steps


class WarmUp(keras.optimizers.schedules.LearningRateSchedule):
    """Step 1 to warmup_steps: peak x step / warmup_steps; from there peak x what `decay` says."""

    def __init__(
        self, peak_learning_rate: float, warmup_steps: int, gradient_accumulation_steps: int = 1
    ) -> None:
        super().__init__()
        if not peak_learning_rate > 0 or warmup_steps < 1:  # "not >" and not "<=": NaN is refused too
            raise ValueError(
                "peak_learning_rate must be above 0 and warmup_steps at least 1; "
                f"got {peak_learning_rate} and {warmup_steps}."
            )
        self.peak_learning_rate = peak_learning_rate
        self.warmup_steps = warmup_steps
        self.gradient_accumulation_steps = gradient_accumulation_steps

    def __call__(self, step: Tensor) -> Tensor:
        done = ops.cast(step // self.gradient_accumulation_steps, "float32")  # Keras counts from 0
        step = done + 1.0
        rises, falls = step / self.warmup_steps, self.decay(step)
        return self.peak_learning_rate * ops.where(step < self.warmup_steps, rises, falls)

    def decay(self, step: Tensor) -> Tensor:
        """The share of the peak at a step past the warm-up."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        return arguments_of(self, WarmUp)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Read what `get_config` gave, in this version or an earlier one."""
        return cls(**current_names(config))


@keras.saving.register_keras_serializable(package="keras_transformer")
class InverseSquareRoot(WarmUp):
    """The paper's schedule, named by its peak: peak x sqrt(warmup_steps / step).

    The paper's own formula, width^-0.5 min(step^-0.5, step x warmup_steps^-1.5), peaks at
    (width x warmup_steps)^-0.5.
    """

    def decay(self, step: Tensor) -> Tensor:
        return ops.sqrt(self.warmup_steps / step)


@keras.saving.register_keras_serializable(package="keras_transformer")
class Cosine(WarmUp):
    """Half a cosine from the peak down to 0 at step `steps`; only the peak where warmup_steps is steps.

    From step `extended_at` on, where it had come down to 0 before, it rises from there in a straight line.
    """

    def __init__(
        self,
        peak_learning_rate: float,
        warmup_steps: int,
        steps: int,
        gradient_accumulation_steps: int = 1,
        extended_at: int = 0,
    ) -> None:
        super().__init__(peak_learning_rate, warmup_steps, gradient_accumulation_steps)
        if steps < warmup_steps:
            raise ValueError(f"steps must be at least warmup_steps; got {steps} and {warmup_steps}.")
        self.steps = steps
        self.extended_at = extended_at

    def decay(self, step: Tensor) -> Tensor:
        steps = max(self.steps - self.warmup_steps, 1)
        done = ops.minimum((step - self.warmup_steps) / steps, 1.0)
        share = 0.5 * (1.0 + ops.cos(math.pi * done))
        if not self.extended_at:
            return share
        rise = rise_steps(self.warmup_steps, self.steps, self.extended_at)
        return share * ops.clip((step - self.extended_at) / rise, 0.0, 1.0)

    def get_config(self) -> dict[str, Any]:
        return arguments_of(self, Cosine)
