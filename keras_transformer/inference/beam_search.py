"""Beam search: extend the best partial answers of a source, and keep the best finished ones.

The algorithm is that of keras_transformer.decoding.beam. W width of the beam, N candidates of a row.
"""

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heapreplace
from itertools import islice
from typing import NamedTuple

import numpy as np

from keras_transformer.inference.answer import Answer
from keras_transformer.inference.repetition import likeliest, repeating
from keras_transformer.inference.request import Request
from keras_transformer.inference.strategy import Choices, Continuations, Move


class Partial(NamedTuple):
    """Answer up to one of its tokens, which shares the tokens before it with other answers."""

    score: float  # sum of the log-probabilities
    before: "Partial | None"
    beam: int  # index of the partial answer, 0 to W - 1, that it extends
    token: int
    log_prob: float


class BeamSearch:
    """Beam search of one request in W rows."""

    def __init__(self, request: Request, end_id: int) -> None:
        self.request = request
        self.end_id = end_id
        self._length = 0
        self._alive: list[Partial | None] = [None]  # at most W
        self._finished: list[Answer] = []  # in the order they finished

    @property
    def scores(self) -> list[float]:
        """The sums of the log-probabilities of the partial answers."""
        return [partial.score if partial else 0.0 for partial in self._alive]

    def advance(self, choices: Choices, rows: list[int]) -> Sequence[Move]:
        """Extend the partial answers by one token, and keep the best.

        Raises:
            TypeError: If the backend returns no candidates.
        """
        if choices.continuations is None:
            raise TypeError("a beam needs a backend that returns candidates.")
        alive = self._extended(choices.continuations, rows)
        if len(self._finished) >= len(rows) or not alive:
            self._finish()
            return ()
        return self._moves(alive, rows)

    def _extended(self, continuations: Continuations, rows: Sequence[int]) -> list[Partial]:
        """Return the partial answers that go on; those that end are finished."""
        best = self._best(continuations, rows)
        first = list(islice(best, len(rows)))
        self._length += 1
        at_limit = self._length == self.request.max_tokens
        others = (other for other in best if other.token != self.end_id)
        alive: list[Partial] = []
        for partial in first:
            if at_limit or partial.token == self.end_id:
                self._finished.append(self._answer(partial))
                if not at_limit:
                    alive += islice(others, 1)  # takes its place
            else:
                alive.append(partial)
        return alive

    def _best(self, continuations: Continuations, rows: Sequence[int]) -> Iterator[Partial]:
        """Yield the best 2 W continuations of the partial answers, best first; of equal ones the first."""
        alive, count = self._alive, 2 * self.request.beam
        columns = [
            self._continued(partial, continuations, row, count)
            for partial, row in zip(alive, rows, strict=False)
        ]
        heads = [(-sums[0], beam, 0) for beam, (sums, _, _) in enumerate(columns) if sums]
        heapify(heads)
        while heads and count:
            count -= 1
            score, beam, place = heads[0]
            sums, tokens, log_probs = columns[beam]
            yield Partial(-score, alive[beam], beam, tokens[place], log_probs[place])
            if place + 1 < len(sums):
                heapreplace(heads, (-sums[place + 1], beam, place + 1))
            else:
                heappop(heads)

    def _continued(
        self, partial: Partial | None, continuations: Continuations, row: int, count: int
    ) -> tuple[list[float], list[int], list[float]]:
        """Return the sums, tokens and log-probabilities with which a partial answer can go on, best first."""
        request, of_all = self.request, continuations.of_all[row]
        tokens = continuations.tokens[row]
        if self._length < len(request.prefix):
            tokens = [request.prefix[self._length]]
        else:
            banned = repeating(_ids(partial), request.no_repeat_ngram) if request.no_repeat_ngram else ()
            if not banned or banned.isdisjoint(tokens):
                return continuations.sums[row], tokens, continuations.log_probs[row]
            tokens = likeliest(of_all, banned, count)
        log_probs = of_all[tokens]
        score = np.float32(partial.score if partial else 0.0)
        return (log_probs + score).tolist(), tokens, log_probs.tolist()

    def _moves(self, alive: list[Partial], rows: list[int]) -> list[Move]:
        """Assign a row to each partial answer, its parent's if no better one has it; return the moves."""
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

    def _answer(self, last: Partial) -> Answer:
        partials = _partials(last)
        score = last.score / len(partials) ** self.request.length_penalty
        ids, log_probs = _ids(last), [partial.log_prob for partial in partials]
        return Answer(ids, score, log_probs)

    def _finish(self) -> None:
        best = sorted(self._finished, key=lambda answer: answer.score, reverse=True)
        self.request.finish(best[: self.request.beam], self.end_id)


def _partials(last: Partial | None) -> list[Partial]:
    """Return a partial answer token by token."""
    partials = []
    while last is not None:
        partials.append(last)
        last = last.before
    return partials[::-1]


def _ids(last: Partial | None) -> list[int]:
    return [partial.token for partial in _partials(last)]
