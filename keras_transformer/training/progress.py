"""What a person sees while a model trains: a line that moves in a terminal, a line now and then in a log."""

import sys
import time
from typing import Any, TextIO

import keras

BAR = 20
LOG_EVERY = 30.0


class ProgressBar(keras.callbacks.Callback):
    """Steps done, loss, target tokens per second, time left."""

    def __init__(
        self, steps: int, done: int, tokens_per_step: float, every: int, out: TextIO = sys.stderr
    ) -> None:
        """`done` of `steps` were taken before; a step is `every` batches of about so many tokens together."""
        super().__init__()
        self.steps, self.done, self.every = steps, done, every
        self.tokens_per_step = tokens_per_step
        self.out = out
        self.batches = 0
        self.trained = 0.0
        self._moving = out.isatty()
        self._shown = time.monotonic()

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._began = time.monotonic()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        now = time.monotonic()
        self.trained += now - self._began
        self.batches += 1
        if now - self._shown >= (0.1 if self._moving else LOG_EVERY):
            self._shown = now
            self._show((logs or {}).get("loss", float("nan")))

    def _show(self, loss: float) -> None:
        steps = self.batches / self.every
        step = self.done + int(steps)
        filled = BAR * step // self.steps
        rate = steps / self.trained
        line = (
            f"step {step:,}/{self.steps:,} [{'=' * filled}{' ' * (BAR - filled)}] loss {loss:.3f}  "
            f"{rate * self.tokens_per_step:,.0f} tokens/s  {_clock((self.steps - step) / rate)} left"
        )
        self.say(line, end="" if self._moving else "\n")

    def say(self, line: str, end: str = "\n") -> None:
        """A line of its own, in place of the moving one."""
        self.out.write(f"\r\x1b[K{line}{end}" if self._moving else f"{line}{end}")
        self.out.flush()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
