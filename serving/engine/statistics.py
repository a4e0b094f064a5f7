"""Histograms that are fast enough for the engine's thread, and can be read from any other thread."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate


class Histogram:
    """Histogram with one observing thread and any number of reading threads.

    Args:
        bounds: Upper bounds of all buckets but the last one, which has none.
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.sum = 0.0
        self._counts = [0] * (len(bounds) + 1)

    def observe(self, value: float) -> None:
        """Record one observation."""
        self._counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def cumulative(self) -> list[int]:
        """Return for each bound the number of values up to it, then the number of all values."""
        return list(accumulate(self._counts))
