"""Continuous batching, without threads or a clock: requests join, take a step together, and leave."""

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

from keras_transformer.inference.backend import Backend, Candidates, Encoded, Step
from keras_transformer.inference.beam_search import BeamSearch
from keras_transformer.inference.greedy_search import GreedySearch
from keras_transformer.inference.request import End, Request
from keras_transformer.inference.strategy import Choices, Move, Strategy

_logger = logging.getLogger(__name__)


class Turn(NamedTuple):
    """What a step changed."""

    advanced: list[Request]
    ended: list[Request]


@dataclass(eq=False)
class _Member:
    """A request in the batch, its search, and its rows of the backend."""

    request: Request
    strategy: Strategy
    rows: list[int]


class Batch:
    """The requests that are being decoded, each in as many rows as its beam is wide."""

    def __init__(self, backend: Backend, end_id: int) -> None:
        self.backend = backend
        self.end_id = end_id
        self._members: list[_Member] = []
        self._owners: list[_Member] = []  # of each row
        self._ended: list[Request] = []  # that no turn has returned yet

    def __len__(self) -> int:
        return len(self._members)

    @property
    def requests(self) -> list[Request]:
        """The requests that are being decoded."""
        return [member.request for member in self._members]

    @property
    def free(self) -> int:
        """Rows that new requests can take."""
        return self.backend.slots - len(self._owners)

    def admit(self, requests: Iterable[Request]) -> list[Request]:
        """Add requests, and return those whose encoding failed. Equal lengths are encoded together."""
        failed = []
        for _, group in groupby(sorted(requests, key=_shape), key=_shape):
            alike = list(group)
            if self._fails(alike):  # one of them may be at fault: the others must not suffer
                failed += [request for request in alike if len(alike) == 1 or self._fails([request])]
        for request in failed:
            request.end = End.FAILED
        return failed

    def place(self, requests: Sequence[Request], encoded: Encoded) -> None:
        """Add requests of one beam width that are encoded already."""
        self.backend.admit(encoded, requests[0].beam)
        for request in requests:
            kind = GreedySearch if request.beam == 1 else BeamSearch
            first = len(self._owners)
            member = _Member(request, kind(request, self.end_id), [*range(first, first + request.beam)])
            self._members.append(member)
            self._owners += [member] * request.beam

    def step(self, now: float) -> Turn:
        """Drop the requests that are lost, and decode the next token of all others."""
        self._retire(lambda request: request.lost(now))
        if not self._members:
            return Turn([], self._taken())
        choices = self._choices()
        moves: list[Move] = []
        advanced = []
        for member in self._members:
            if all(math.isfinite(choices.log_probs[row]) for row in member.rows):
                moves += member.strategy.advance(choices, member.rows)
                advanced.append(member.request)
            else:
                member.request.error = member.request.error or "the model gave no number"
                member.request.end = End.FAILED
        if moves:
            self.backend.follow(*np.array(moves, np.int32).T)
        self._retire(lambda request: request.end)
        return Turn(advanced, self._taken())

    def leave(self, end: End) -> list[Request]:
        """End all requests without a further call of the backend, which may be broken."""
        requests = self.requests
        self._members, self._owners = [], []
        for request in requests:
            request.end = end
        return self._taken() + requests

    def _fails(self, alike: list[Request]) -> bool:
        try:
            self.place(alike, self.backend.encode([request.source for request in alike]))
        except Exception as error:
            _logger.warning("encoding %d sentences failed: %s", len(alike), error)
            for request in alike:
                request.error = str(error)
            return True
        for request in alike:
            request.error = ""
        return False

    def _choices(self) -> Choices:
        try:
            step = self.backend.step()
        except Exception as error:
            _logger.warning("a step of %d rows failed: %s", len(self._owners), error)
            step = _joined([self._alone(row) for row in range(len(self._owners))])
        return Choices(step.tokens.tolist(), step.log_probs.tolist(), step.candidates)

    def _alone(self, row: int) -> Step:
        """The step of one row, or one without a number if it fails."""
        try:
            step = self.backend.step_alone(row)
        except Exception as error:
            self._owners[row].request.error = str(error)
            return Step(np.zeros(1, np.int32), np.full(1, np.nan, np.float32))
        return step.copy()

    def _taken(self) -> list[Request]:
        ended, self._ended = self._ended, []
        return ended

    def _retire(self, end_of: Callable[[Request], End | None]) -> None:
        for place in reversed(range(len(self._members))):
            member = self._members[place]
            end = end_of(member.request)
            if end is not None:
                member.request.end = end
                for row in sorted(member.rows, reverse=True):
                    self._drop(row)
                self._members[place] = self._members[-1]
                self._members.pop()
                self._ended.append(member.request)

    def _drop(self, row: int) -> None:
        """Retire a row; the last row takes its number."""
        self.backend.retire(row)
        last = len(self._owners) - 1
        mover = self._owners[row] = self._owners[last]
        self._owners.pop()
        if row != last:
            mover.rows[mover.rows.index(last)] = row


def _shape(request: Request) -> tuple[int, int]:
    return len(request.source), request.beam


def _joined(steps: Sequence[Step]) -> Step:
    """Steps of single rows as one of all. Rows without candidates have failed, and take those of another."""
    tokens, log_probs = (np.concatenate(values) for values in zip(*(step[:2] for step in steps), strict=True))
    known = next((step.candidates for step in steps if step.candidates is not None), None)
    if known is None:
        return Step(tokens, log_probs)
    columns = zip(*(step.candidates or known for step in steps), strict=True)
    log_probs_of_all, highest, chosen = map(np.concatenate, columns)
    return Step(tokens, log_probs, Candidates(log_probs_of_all, highest, chosen))
