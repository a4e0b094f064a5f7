"""Schedules of the learning rate. All of them rise linearly to a peak first (warm-up).

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
    """Base class of the schedules: peak x step / warmup_steps up to warmup_steps, then peak x `decay(step)`.

    Args:
        peak_learning_rate: The largest learning rate, reached at warmup_steps.
        warmup_steps: Number of steps of the linear rise.
        gradient_accumulation_steps: Number of batches of a step.

    Raises:
        ValueError: If an argument is out of range.
    """

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
        """Return the learning rate of a step."""
        done = ops.cast(step // self.gradient_accumulation_steps, "float32")  # Keras counts from 0
        step = done + 1.0
        rises, falls = step / self.warmup_steps, self.decay(step)
        return self.peak_learning_rate * ops.where(step < self.warmup_steps, rises, falls)

    def decay(self, step: Tensor) -> Tensor:
        """Return the share of the peak at a step after the warm-up."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return arguments_of(self, WarmUp)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Create a schedule from the result of `get_config` of this version or an earlier one."""
        return cls(**current_names(config))


@keras.saving.register_keras_serializable(package="keras_transformer")
class InverseSquareRoot(WarmUp):
    """Schedule of the paper, given by its peak: peak x sqrt(warmup_steps / step).

    The paper's own formula, width^-0.5 min(step^-0.5, step x warmup_steps^-1.5), peaks at (width x
    warmup_steps)^-0.5.
    """

    def decay(self, step: Tensor) -> Tensor:
        """Return sqrt(warmup_steps / step)."""
        return ops.sqrt(self.warmup_steps / step)


@keras.saving.register_keras_serializable(package="keras_transformer")
class Cosine(WarmUp):
    """Schedule that falls from the peak to 0 at step `steps` along half a cosine.

    If warmup_steps equals steps, it only rises. A run that was given more steps after it had come down
    rises again in a straight line from step `extended_at` on, up to the cosine of the longer run.

    Args:
        peak_learning_rate: The largest learning rate, reached at warmup_steps.
        warmup_steps: Number of steps of the linear rise.
        steps: Step at which the learning rate is 0.
        gradient_accumulation_steps: Number of batches of a step.
        extended_at: Step at which the run was given more steps; 0 if it never was.

    Raises:
        ValueError: If steps is less than warmup_steps.
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
        """Return the share of the peak on the cosine."""
        steps = max(self.steps - self.warmup_steps, 1)
        done = ops.minimum((step - self.warmup_steps) / steps, 1.0)
        share = 0.5 * (1.0 + ops.cos(math.pi * done))
        if self.extended_at <= self.warmup_steps:  # it had not begun to fall
            return share
        rise = rise_steps(self.warmup_steps, self.steps, self.extended_at)
        return share * ops.clip((step - self.extended_at) / rise, 0.0, 1.0)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return arguments_of(self, Cosine)
