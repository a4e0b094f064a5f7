"""Several corpora that are drawn from by weight: a share of the sentences is of each, however large it is."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_transformer.text.corpus import CorpusError, Pair


class Weighted(NamedTuple):
    """A file of pairs, and its weight where it was given one."""

    file: str
    weight: float | None

    @classmethod
    def parsed(cls, name: str) -> "Weighted":
        """Read a.tsv=3. No format of pairs ends in a number, so a name with = in it stays what it is."""
        file, equals, weight = name.rpartition("=")
        try:
            return cls(file, float(weight)) if equals else cls(name, None)
        except ValueError:
            return cls(name, None)


class Mixture:
    """The pairs of weighted corpora, one corpus after the other.

    Args:
        files: The files with their weights.
        corpora: The pairs of each.
    """

    def __init__(self, files: Sequence[Weighted], corpora: Sequence[Iterable[Pair]]) -> None:
        self.files = files
        self._corpora = corpora
        self._current = 0
        self._corpus_of = array("H")

    def __iter__(self) -> Iterator[Pair]:
        for number, corpus in enumerate(self._corpora):
            self._current = number
            yield from corpus

    def noted(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield what is left of these pairs, each at once, and note which corpus it is of."""
        for pair in pairs:
            self._corpus_of.append(self._current)
            yield pair

    def rates(self, trained_on: Iterable[bool], notify: Callable[[str], None]) -> NDArray[np.float64]:
        """Return how often each pair is drawn in an epoch.

        Args:
            trained_on: Whether each pair that was noted is trained on; the others have no rate.
            notify: Is called with a line about each corpus.

        Raises:
            CorpusError: A corpus has no pair that is trained on.
        """
        corpus_of = np.fromiter(compress(self._corpus_of, trained_on), np.uint16)
        counts = np.bincount(corpus_of, minlength=len(self.files))
        empty = [file for (file, _), count in zip(self.files, counts, strict=True) if not count]
        if empty:
            raise CorpusError(f"no pair of {', '.join(empty)} is left to draw: leave it out, or give others")
        weights = np.array([1.0 if weight is None else weight for _, weight in self.files])
        shares = weights / weights.sum()
        for (file, _), count, share in zip(self.files, counts, shares, strict=True):
            notify(f"{file}: {count:,} pairs, {share:.1%} of the sentences that are drawn")
        return (len(corpus_of) * shares / counts)[corpus_of]
