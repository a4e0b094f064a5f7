"""Branching search: the likeliest tokens after the prefix, each continued greedily, to choose from."""

from collections.abc import Iterator, Sequence
from itertools import islice

from keras_transformer.inference.beam_search import BeamSearch, Partial
from keras_transformer.inference.strategy import Continuations


class BranchingSearch(BeamSearch):
    """Search of one request in W rows, whose W answers have the likeliest tokens after the prefix.

    The answers of a beam are often equal there, because one token has nearly all of the probability.
    """

    def _best(self, continuations: Continuations, rows: Sequence[int]) -> Iterator[Partial]:
        """Yield the likeliest W continuations of the prefix, and later the likeliest one of each answer."""
        if self._length <= len(self.request.prefix):
            yield from islice(super()._best(continuations, rows), len(rows))
            return
        for beam, (partial, row) in enumerate(zip(self._alive, rows, strict=False)):
            sums, tokens, log_probs = self._continued(partial, continuations, row, 1)
            yield Partial(sums[0], partial, beam, tokens[0], log_probs[0])
