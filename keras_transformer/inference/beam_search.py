"""Beam search: the best few partial answers of a source are extended, and the best few finished ones kept.

It is the search of keras_transformer.decoding.beam. W width of the beam, N candidates of a row.
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
    """An answer up to one of its tokens; what is before it is shared with other answers."""

    score: float  # sum of the log-probabilities
    before: "_Partial | None"
    beam: int  # which of the W partial answers it extends
    token: int
    log_prob: float


class BeamSearch:
    """W rows of one request."""

    def __init__(self, request: Request, end_id: int) -> None:
        self.request = request
        self.end_id = end_id
        self._length = 0
        self._alive: list[_Partial | None] = [None]  # at most W
        self._finished: list[Answer] = []  # in the order they finished

    def advance(self, choices: Choices, rows: list[int]) -> Sequence[Move]:
        """Extend the partial answers by one token, and keep the best."""
        if choices.candidates is None:
            raise TypeError("a beam needs a backend that returns candidates.")
        alive = self._extended(choices.candidates, rows)
        if len(self._finished) >= len(rows) or not alive:
            self._finish()
            return ()
        return self._moves(alive, rows)

    def _extended(self, candidates: Candidates, rows: Sequence[int]) -> list[_Partial]:
        """Return the partial answers that go on; those that end are finished."""
        width = len(rows)
        best = self._best(candidates, rows)
        self._length += 1
        at_limit = self._length == self.request.max_tokens
        others = (other for other in best[width:] if other.token != self.end_id)
        alive: list[_Partial] = []
        for partial in best[:width]:
            if at_limit or partial.token == self.end_id:
                self._finished.append(self._answer(partial))
                if not at_limit:
                    alive += islice(others, 1)  # takes its place
            else:
                alive.append(partial)
        return alive

    def _best(self, candidates: Candidates, rows: Sequence[int]) -> list[_Partial]:
        """Return the best 2 W continuations of the partial answers, best first."""
        alive, prefix, count = self._alive, self.request.prefix, 2 * self.request.beam
        own = list(rows[: len(alive)])
        if self._length < len(prefix):
            forced = prefix[self._length]
            log_probs = candidates.log_probs[own, forced][:, None]
            tokens = np.full((len(own), 1), forced)
        else:
            log_probs, tokens = candidates.highest[own, :count], candidates.tokens[own, :count]
        scores = [partial.score if partial else 0.0 for partial in alive]
        sums = (log_probs + np.array(scores, np.float32)[:, None]).ravel()
        order = np.argsort(-sums, kind="stable")[:count]
        chosen = sums[order], order // tokens.shape[1], tokens.ravel()[order], log_probs.ravel()[order]
        return [
            _Partial(score, alive[beam], beam, token, log_prob)
            for score, beam, token, log_prob in zip(*(values.tolist() for values in chosen), strict=True)
        ]

    def _moves(self, alive: list[_Partial], rows: list[int]) -> list[Move]:
        """Give each partial answer a row, that of its parent if no better one has it, and return the moves.

        Rows without a partial answer of their own are padding: they go on, and nothing reads them.
        """
        free = dict(enumerate(rows))
        own = [free.pop(partial.beam, None) for partial in alive]
        spare = iter(free.values())
        placed = [next(spare) if row is None else row for row in own]
        padding = list(spare)
        moves = [
            Move(row, rows[partial.beam], partial.token) for row, partial in zip(placed, alive, strict=True)
        ]
        self._alive = [*alive]
        rows[:] = placed + padding
        return moves + [Move(row, row, self.end_id) for row in padding]

    def _answer(self, last: _Partial) -> Answer:
        ids, log_probs = [], []
        partial: _Partial | None = last
        while partial is not None:
            ids.append(partial.token)
            log_probs.append(partial.log_prob)
            partial = partial.before
        score = last.score / len(ids) ** self.request.length_penalty
        return Answer(ids[::-1], score, log_probs[::-1])

    def _finish(self) -> None:
        request = self.request
        best = sorted(self._finished, key=lambda answer: answer.score, reverse=True)[: request.beam]
        request.answers = best
        request.tokens, request.log_probs = [*best[0].ids], [*best[0].log_probs]
        request.end = End.STOP if request.tokens[-1] == self.end_id else End.LENGTH
