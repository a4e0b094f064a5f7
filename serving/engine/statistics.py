"""How often a measure came to how much: cheap enough for the engine's thread, read from any other."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate


class Histogram:
    """One thread observes. `bounds`: the largest value that each bucket but the last one takes."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.sum = 0.0
        self._counts = [0] * (len(bounds) + 1)

    def observe(self, value: float) -> None:
        """Once."""
        self._counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def cumulative(self) -> list[int]:
        """For each bound the values up to it; behind them all there are."""
        return list(accumulate(self._counts))
