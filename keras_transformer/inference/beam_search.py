"""Beam search: extend the best partial answers of a source, and keep the best finished ones.

The algorithm is that of keras_transformer.decoding.beam. W width of the beam, N candidates of a row.
"""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from keras_transformer.inference.answer import Answer
from keras_transformer.inference.backend import Candidates
from keras_transformer.inference.request import End, Request
from keras_transformer.inference.strategy import Choices, Move


class _Partial(NamedTuple):
    score: float  # sum of the log-probabilities; once finished, divided by length ** length penalty
    parent: int  # index of the beam, 0 to W - 1, that this one extends
    ids: list[int]
    log_probs: list[float]


class BeamSearch:
    """Beam search of one request in W rows."""

    def __init__(self, request: Request, end_id: int) -> None:
        self.request = request
        self.end_id = end_id
        self._alive = [_Partial(0.0, 0, [], [])]  # at most W
        self._finished: list[_Partial] = []  # in the order they finished

    def advance(self, choices: Choices, rows: Sequence[int]) -> Sequence[Move]:
        """Extend the partial answers by one token, and keep the best.

        Raises:
            TypeError: If the backend returns no candidates.
        """
        if choices.candidates is None:
            raise TypeError("a beam needs a backend that returns candidates.")
        self._extend(choices.candidates, rows)
        if len(self._finished) >= len(rows) or not self._alive:
            self._finish()
            return ()
        # rows without a partial answer are padding: they are decoded too, but their results are not used
        moves = [
            Move(row, rows[partial.parent], partial.ids[-1])
            for row, partial in zip(rows, self._alive, strict=False)
        ]
        return moves + [Move(row, row, self.end_id) for row in rows[len(moves) :]]

    def _extend(self, candidates: Candidates, rows: Sequence[int]) -> None:
        width = len(rows)
        best = self._best(candidates, rows)
        at_limit = len(best[0].ids) == self.request.max_tokens
        others = (other for other in best[width:] if other.ids[-1] != self.end_id)
        self._alive = []
        for partial in best[:width]:
            if at_limit or partial.ids[-1] == self.end_id:
                score = partial.score / len(partial.ids) ** self.request.length_penalty
                self._finished.append(partial._replace(score=score))
                if not at_limit:
                    self._alive += islice(others, 1)  # the next best replaces it
            else:
                self._alive.append(partial)

    def _best(self, candidates: Candidates, rows: Sequence[int]) -> list[_Partial]:
        """Return the best 2 W continuations of the partial answers, best first."""
        alive, prefix = self._alive, self.request.prefix
        length = len(alive[0].ids)
        rows = rows[: len(alive)]
        if length < len(prefix):
            forced = prefix[length]
            log_probs = candidates.log_probs[rows, forced][:, None]
            tokens = np.full((len(rows), 1), forced)
        else:
            log_probs, tokens = candidates.highest[rows], candidates.tokens[rows]
        sums = log_probs + np.array([[partial.score] for partial in alive], np.float32)
        order = np.argsort(-sums, axis=None, kind="stable")[: 2 * self.request.beam]
        beams, places = np.unravel_index(order, sums.shape)
        chosen = sums[beams, places], log_probs[beams, places], tokens[beams, places], beams
        return [
            _Partial(score, beam, [*alive[beam].ids, token], [*alive[beam].log_probs, log_prob])
            for score, log_prob, token, beam in zip(*(values.tolist() for values in chosen), strict=True)
        ]

    def _finish(self) -> None:
        request = self.request
        best = sorted(self._finished, key=lambda partial: partial.score, reverse=True)[: request.beam]
        request.answers = [Answer(partial.ids, partial.score, partial.log_probs) for partial in best]
        request.tokens, request.log_probs = best[0].ids, best[0].log_probs
        request.end = End.STOP if request.tokens[-1] == self.end_id else End.LENGTH
