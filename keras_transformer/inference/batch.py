"""Continuous batching, without threads or a clock: requests join, take a step together, and leave."""

import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from keras_transformer.inference.backend import Backend, Encoded, StepResult
from keras_transformer.inference.beam_search import BeamSearch
from keras_transformer.inference.greedy_search import GreedySearch
from keras_transformer.inference.request import End, Request
from keras_transformer.inference.strategy import Choices, Move, Strategy

_logger = logging.getLogger(__name__)

NOT_FINITE = "the model returned a log-probability that is not finite"


class Turn(NamedTuple):
    """What a step changed."""

    advanced: list[Request]
    ended: list[Request]
    rows: int  # that were decoded


@dataclass(eq=False)
class _Member:
    """A request in the batch, its search, and its rows of the backend."""

    request: Request
    strategy: Strategy
    rows: list[int]


class Batch:
    """The requests that are being decoded, each in as many rows as its beam is wide.

    Attributes:
        backend: the runtime that decodes the rows.
        end_id: the token that ends a sentence.
        members: the requests, with their searches and rows.
        free: rows that new requests can take.
    """

    def __init__(self, backend: Backend, end_id: int) -> None:
        self.backend = backend
        self.end_id = end_id
        self.members: list[_Member] = []
        self.free = backend.slots
        self._owners: list[_Member] = []  # of each row
        self._choosing: list[_Member] = []  # whose searches need candidates
        self._ended: list[Request] = []  # that no turn has returned yet

    def __len__(self) -> int:
        return len(self.members)

    def admit(self, requests: Iterable[Request]) -> list[Request]:
        """Encode requests and add them; those of one length and beam are encoded together.

        Returns:
            The requests whose encoding failed, with the reason.
        """
        alike: dict[tuple[int, int], list[Request]] = {}
        for request in requests:
            alike.setdefault((len(request.source), request.beam), []).append(request)
        groups = [alike[shape] for shape in sorted(alike, reverse=True)]
        failed = []
        while groups:
            group = groups.pop()
            try:
                self.place(group, self.backend.encode([request.source for request in group]))
            except Exception as error:
                _logger.warning("encoding %d sentences failed: %s", len(group), error)
                if len(group) > 1:  # one of them may be at fault: the others must not suffer
                    groups += [[request] for request in reversed(group)]
                else:
                    group[0].error, group[0].end = str(error), End.FAILED
                    failed += group
        return failed

    def place(self, requests: Sequence[Request], encoded: Encoded) -> None:
        """Add requests of one beam width that are encoded already."""
        self.backend.admit(encoded, requests[0].beam)
        for request in requests:
            kind = GreedySearch if request.beam == 1 else BeamSearch
            first = len(self._owners)
            member = _Member(request, kind(request, self.end_id), [*range(first, first + request.beam)])
            self.members.append(member)
            if request.chooses:
                self._choosing.append(member)
            self._owners += [member] * request.beam
            self.free -= request.beam

    def step(self, now: float) -> Turn:
        """Drop the requests that are lost, and decode the next token of all others."""
        for member in self.members:
            member.request.end = member.request.lost(now)
        self._retire()
        advanced = []
        rows = len(self._owners)
        if rows:
            choices = self._decode()
            moves: list[Move] = []
            for member in self.members:
                if all(math.isfinite(choices.log_probs[row]) for row in member.rows):
                    moves += member.strategy.advance(choices, member.rows)
                    advanced.append(member.request)
                else:
                    member.request.error = member.request.error or NOT_FINITE
                    member.request.end = End.FAILED
            if moves:
                self.backend.follow(*np.array(moves, np.int32).T)
            self._retire()
        ended, self._ended = self._ended, []
        return Turn(advanced, ended, rows)

    def leave(self, end: End) -> list[Request]:
        """End all requests without a further call of the backend, which may be broken."""
        requests = [member.request for member in self.members]
        for request in requests:
            request.end = end
        requests += self._ended
        self.members, self._owners, self._choosing, self._ended = [], [], [], []
        self.free = self.backend.slots
        return requests

    def _decode(self) -> Choices:
        """Decode the next token of every row: of all together, or one by one where that fails."""
        try:
            tokens, log_probs = self.backend.step()
        except Exception as error:
            _logger.warning("a step of %d rows failed: %s", len(self._owners), error)
            alone = [self._decode_alone(row) for row in range(len(self._owners))]
            tokens, log_probs = map(np.concatenate, zip(*alone, strict=True))
        candidates = None
        if self._choosing:
            widest = max(member.request.beam for member in self._choosing)
            candidates = self.backend.candidates(2 * widest)
        return Choices(tokens.tolist(), log_probs.tolist(), candidates)

    def _decode_alone(self, row: int) -> StepResult:
        """Decode the next token of one row; where that fails, its log-probability is not a number."""
        try:
            step = self.backend.step_alone(row)
        except Exception as error:
            self._owners[row].request.error = str(error)
            return StepResult(np.zeros(1, np.int32), np.full(1, np.nan, np.float32))
        return StepResult(step.tokens.copy(), step.log_probs.copy())

    def _retire(self) -> None:
        """Remove the requests that have ended."""
        for index in reversed(range(len(self.members))):
            member = self.members[index]
            if member.request.end is not None:
                for row in sorted(member.rows, reverse=True):
                    self._drop(row)
                self.members[index] = self.members[-1]
                self.members.pop()
                if member.request.chooses:
                    self._choosing.remove(member)
                self._ended.append(member.request)

    def _drop(self, row: int) -> None:
        """Retire a row; the last row takes its number."""
        self.backend.retire(row)
        last = len(self._owners) - 1
        mover = self._owners[row] = self._owners[last]
        self._owners.pop()
        self.free += 1
        if row != last:
            mover.rows[mover.rows.index(last)] = row
