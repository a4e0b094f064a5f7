"""Progress of the translation of a corpus on stderr, and the summary at its end."""

from collections.abc import Sequence
from typing import Self

from keras_transformer.bulk.corpus_files import Input
from keras_transformer.bulk.shards import Done
from keras_transformer.progress_bar import progress_bar


class Progress:
    """Lines, lines per second, time left, and the slowest shard."""

    def __init__(self, inputs: Sequence[Input]) -> None:
        self.lines = self.earlier = self.memory = 0
        self._slowest: Done | None = None
        total = sum(source.size for source in inputs)
        self._bar = progress_bar(
            "{percentage:.0f}% ", "{remaining} left{postfix}", total=total, mininterval=0
        )

    def add(self, done: Done) -> None:
        """Count a shard."""
        if done.seconds:
            self.lines += done.count
            self.memory = max(self.memory, done.memory)
            if self._slowest is None or done.seconds > self._slowest.seconds:
                self._slowest = done
        else:  # its translation was there: it says nothing about the time left
            self.earlier += done.count
            self._bar.initial += done.weight
        self._bar.set_postfix_str(self.rate(), refresh=False)
        self._bar.update(done.weight)

    def rate(self) -> str:
        """Return lines, speed and the slowest shard."""
        seconds = self._bar.format_dict["elapsed"]
        text = f"{self.lines:,} lines, {seconds:.1f} s, {self.lines / seconds if seconds else 0:,.0f} lines/s"
        if self._slowest:
            text += f", slowest shard {self._slowest.seconds:.1f} s ({self._slowest.label})"
        return text

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()
