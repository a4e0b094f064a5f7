"""Progress of a training run on stderr."""

import sys
from typing import Any

import keras

from keras_transformer.progress_bar import progress_bar


class ProgressBar(keras.callbacks.Callback):
    """Progress bar with the steps done, the time left, the loss, and the target tokens per second.

    Args:
        steps: Number of steps of the whole run.
        done: Number of steps that were taken before.
        tokens_per_step: Average number of target tokens of a step.
        every: Number of batches of a step.
    """

    def __init__(self, steps: int, done: int, tokens_per_step: float, every: int) -> None:
        super().__init__()
        self.tokens_per_step, self.every = tokens_per_step, every
        self.bar = progress_bar(
            "step {n:,}/{total:,} ", "{remaining} left{postfix}", total=steps, initial=done
        )

    def on_train_begin(self, logs: Any = None) -> None:
        """Start the measurement of time."""
        self.bar.unpause()  # excludes the time before the first step

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Advance the bar at the end of a step."""
        if (batch + 1) % self.every == 0:
            loss, rate = (logs or {}).get("loss", float("nan")), self.bar.format_dict["rate"] or 0.0
            speed = f"{rate * self.tokens_per_step:,.0f} tokens/s"
            self.bar.set_postfix_str(f"loss {loss:.3f}, {speed}", refresh=False)
            self.bar.update()

    def say(self, line: str) -> None:
        """Write a line above the bar, and exclude the time since the last step."""
        self.bar.write(line, file=sys.stderr)
        self.bar.unpause()

    def close(self) -> None:
        """Remove the bar."""
        self.bar.close()
