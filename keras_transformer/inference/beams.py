"""Beam search over the graphs of a model: a source takes a row for each of its beginnings.

It is the search of keras_transformer.decoding.beam. W width of the beam, N candidates of a row, V vocabulary.
"""

import threading
from collections.abc import Iterable
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_transformer.inference.backends.slots import Slots
from keras_transformer.inference.partition import Asked, Rows, encoded, shared
from keras_transformer.inference.scheduler import SLOTS

Floats = NDArray[np.float32]
Answers = list[list[int]]


class BeamScheduler:
    """As many sources at once as have room in SLOTS rows, in each of its workers."""

    def __init__(
        self,
        encoder: Any,
        decoder: Any,
        start_id: int,
        end_id: int,
        max_length: int,
        width: int,
        penalty: float,
        workers: int = 1,
    ) -> None:
        """`encoder` and `decoder` are sessions, the second of a beam_decoder."""
        self.encoder, self.decoder = encoder, decoder
        self.start_id, self.end_id, self.max_length = start_id, end_id, max_length
        self.width, self.penalty = width, penalty
        self.workers = workers

    def search_ids(self, rows: Rows, prefixes: Rows | None = None) -> list[Answers]:
        """Rows of source ids, each with its end -> the answers to each, the best first."""
        answers: list[Answers] = [[] for _ in rows]
        found = shared(self._decode, rows, prefixes, self.end_id, self.max_length, self.workers)
        for place, best in found:
            answers[place] = best
        return answers

    def _decode(self, rows: list[Asked], ended: threading.Event) -> list[tuple[int, Answers]]:
        sources = max(1, min(SLOTS // self.width, len(rows)))
        slots = _BeamSlots(self.decoder, sources, self.width, len(rows[0].source), rows[0].limit)
        waiting = encoded(self.encoder, rows)
        going: list[_Search] = []
        done: list[tuple[int, Answers]] = []
        while not ended.is_set():
            for asked, parts in islice(waiting, slots.free // self.width):
                slots.admit(parts, self.start_id)
                going.append(_Search(asked, self.width, self.penalty, self.end_id))
            if not going:
                break
            for search, *candidates in zip(going, *slots.candidates(), strict=True):
                search.extend(*candidates)
            slots.follow(search.places() for search in going)
            for place in reversed(range(len(going))):
                search = going[place]
                if search.is_over:
                    done.append((search.asked.place, search.answers()))
                    slots.retire(place)
                    going[place] = going[-1]
                    going.pop()
        return done


class _Beginning(NamedTuple):
    score: float  # the sum of its log-probabilities
    row: int  # of the W, which had all but its last token
    ids: list[int]


class _Search:
    """One source: its beginnings, W at most, and the answers that have ended."""

    def __init__(self, asked: Asked, width: int, penalty: float, end_id: int) -> None:
        self.asked = asked
        self.width, self.penalty, self.end_id = width, penalty, end_id
        self.alive = [_Beginning(0.0, 0, [])]
        self.ended: list[_Beginning] = []  # with scores over their length's power, in the order they came

    @property
    def is_over(self) -> bool:
        """Whether there are enough answers, or nothing is left that could become one."""
        return len(self.ended) >= self.width or not self.alive

    def answers(self) -> Answers:
        """The best that have ended, the best first."""
        best = sorted(self.ended, key=lambda answer: answer.score, reverse=True)
        return [answer.ids for answer in best[: self.width]]

    def places(self) -> list[tuple[int, int]]:
        """For each of the W rows which one it goes on from, and its last token."""
        alive = [] if self.is_over else [(beginning.row, beginning.ids[-1]) for beginning in self.alive]
        return alive + [(row, self.end_id) for row in range(len(alive), self.width)]

    def extend(self, log_probs: Floats, highest: Floats, tokens: NDArray[np.int64]) -> None:
        """By a token: log_probs (W, V), of each row the highest (W, N) and whose they are."""
        candidates = self._candidates(log_probs, highest, tokens)
        is_last = len(candidates[0].ids) == self.asked.limit
        others = (other for other in candidates[self.width :] if other.ids[-1] != self.end_id)
        self.alive = []
        for candidate in candidates[: self.width]:
            if is_last or candidate.ids[-1] == self.end_id:
                score = candidate.score / len(candidate.ids) ** self.penalty
                self.ended.append(candidate._replace(score=score))
                if not is_last:
                    self.alive += islice(others, 1)  # in its place
            else:
                self.alive.append(candidate)

    def _candidates(self, log_probs: Floats, highest: Floats, tokens: NDArray[np.int64]) -> list[_Beginning]:
        """The best 2 W continuations, the best first."""
        length = len(self.alive[0].ids)
        if length < len(self.asked.prefix):
            forced = self.asked.prefix[length]
            highest, tokens = log_probs[:, [forced]], np.full((self.width, 1), forced)
        scores = np.array([[beginning.score] for beginning in self.alive], np.float32)
        sums = highest[: len(scores)] + scores
        best = np.argsort(-sums, axis=None, kind="stable")[: 2 * self.width]
        return [
            _Beginning(float(sums[row, place]), row, [*self.alive[row].ids, int(tokens[row, place])])
            for row, place in zip(
                *(each.tolist() for each in np.unravel_index(best, sums.shape)), strict=True
            )
        ]


class _BeamSlots(Slots):
    """Slots of W rows for each source."""

    def __init__(
        self, decoder: Any, sources: int, width: int, longest_source: int, longest_answer: int
    ) -> None:
        super().__init__(decoder, sources * width, longest_source, longest_answer)
        self._width = width
        (vocabulary,) = (value.shape[1] for value in decoder.get_outputs() if value.name == "log_probs")
        self._count = np.array([min(2 * width, vocabulary)])
        shape = sources * width, int(self._count[0])
        self._candidates = {
            "log_probs": np.zeros((sources * width, vocabulary), np.float32),
            "highest": np.zeros(shape, np.float32),
            "tokens": np.zeros(shape, np.int64),
        }

    def admit(self, encoded: Any, start_id: int) -> None:
        super().admit([np.repeat(part, self._width, axis=1) for part in encoded], start_id)

    def candidates(self) -> list[NDArray[Any]]:
        """-> log_probs (B, W, V), the highest (B, W, N) and their tokens: views, as in `step`."""
        self._run()
        return [
            values[: self.rows].reshape(-1, self._width, values.shape[1])
            for values in self._candidates.values()
        ]

    def follow(self, places: Iterable[list[tuple[int, int]]]) -> None:
        """Have each row go on from another one of its source's, with a token."""
        rows, tokens = np.array(list(chain.from_iterable(places))).T
        rows = rows + np.arange(self.rows) // self._width * self._width
        self._token[: self.rows, 0] = tokens
        moved = np.flatnonzero(rows != np.arange(self.rows))
        cache, written = self._caches["cache"], self._position[: self.rows].max()
        cache[:, moved, :, :written] = cache[:, rows[moved], :, :written]

    def retire(self, row: int) -> None:
        """A source leaves, `row` counts sources, and the last one takes its rows."""
        for each in reversed(range(row * self._width, (row + 1) * self._width)):
            super().retire(each)

    def _values(self, rows: slice) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
        inputs, _ = super()._values(rows)
        said = {name: values[rows] for name, values in self._candidates.items()}
        return {**inputs, "count": self._count}, said
