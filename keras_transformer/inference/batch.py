"""Continuous batching without threads or a clock: requests join, take steps together, and leave."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_transformer.inference.backend import Backend, Encoded, StepResult
from keras_transformer.inference.beam_search import BeamSearch
from keras_transformer.inference.branching_search import BranchingSearch
from keras_transformer.inference.greedy_search import GreedySearch, GuidedSearch
from keras_transformer.inference.request import End, Request
from keras_transformer.inference.strategy import Choices, Continuations, Move, Strategy

_logger = logging.getLogger(__name__)

NOT_FINITE = "the model returned a log-probability that is not finite"


class Turn(NamedTuple):
    """Result of one step of a batch.

    Attributes:
        advanced: Requests that have one more token.
        ended: Requests that have left the batch.
        rows: Number of decoded rows.
    """

    advanced: list[Request]
    ended: list[Request]
    rows: int


@dataclass(eq=False)
class _Member:
    """A request in the batch with its search strategy and the indices of its rows."""

    request: Request
    strategy: Strategy
    rows: list[int]

    @property
    def chooses(self) -> bool:
        """Whether its search needs candidates."""
        return type(self.strategy) is not GreedySearch


class Batch:
    """Requests that are decoded together, each in as many rows as its beam is wide.

    Attributes:
        backend: The runtime that decodes the rows.
        end_id: Id of the token that ends a sentence.
        members: The requests, with their search strategies and rows.
        free: Number of rows for new requests.
    """

    def __init__(self, backend: Backend, end_id: int) -> None:
        self.backend = backend
        self.end_id = end_id
        self.members: list[_Member] = []
        self.free = backend.slots
        self._owners: list[_Member] = []  # of each row
        self._choosing: list[_Member] = []  # members whose searches need candidates
        self._ended: list[Request] = []  # not yet returned by a turn

    def __len__(self) -> int:
        return len(self.members)

    def admit(self, requests: Iterable[Request]) -> list[Request]:
        """Encode requests and add them to the batch; those of equal length and beam are encoded together.

        Returns:
            The requests whose encoding failed, with the error.
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
                if len(group) > 1:  # one may be the cause: encode each alone, so that the others succeed
                    groups += [[request] for request in reversed(group)]
                else:
                    group[0].error, group[0].end = str(error), End.FAILED
                    failed += group
        return failed

    def place(self, requests: Sequence[Request], encoded: Encoded) -> None:
        """Add requests of one beam width that are already encoded."""
        self.backend.admit(encoded, requests[0].beam)
        for request in requests:
            strategy = _kind(request)(request, self.end_id)
            first = len(self._owners)
            member = _Member(request, strategy, [*range(first, first + request.beam)])
            self.members.append(member)
            if member.chooses:
                self._choosing.append(member)
            self._owners += [member] * request.beam
            self.free -= request.beam

    def step(self, now: float) -> Turn:
        """Remove the requests that are cancelled or expired, and decode the next token of all others."""
        for member in self.members:
            member.request.end = member.request.lost(now)
        self._retire()
        advanced = []
        rows = len(self._owners)
        if rows:
            choices, finite = self._decode()
            moves: list[Move] = []
            broken = {self._owners[row] for row in np.flatnonzero(~finite)}
            for member in self.members:
                if member in broken:
                    member.request.error = member.request.error or NOT_FINITE
                    member.request.end = End.FAILED
                else:
                    moves += member.strategy.advance(choices, member.rows)
                    advanced.append(member.request)
            if moves:
                self.backend.follow(*np.array(moves, np.int32).T)
            self._retire()
        ended, self._ended = self._ended, []
        return Turn(advanced, ended, rows)

    def leave(self, end: End) -> list[Request]:
        """End all requests without another call of the backend, which may be broken."""
        requests = [member.request for member in self.members]
        for request in requests:
            request.end = end
        requests += self._ended
        self.members, self._owners, self._choosing, self._ended = [], [], [], []
        self.free = self.backend.slots
        return requests

    def _decode(self) -> tuple[Choices, NDArray[np.bool_]]:
        """Decode the next token of all rows together; if that fails, of each row alone.

        Returns:
            The choices, and for each row whether its numbers are finite (B,).
        """
        try:
            tokens, logits = self.backend.step()
        except Exception as error:
            _logger.warning("a step of %d rows failed: %s", len(self._owners), error)
            alone = [self._decode_alone(row) for row in range(len(self._owners))]
            tokens, logits = map(np.concatenate, zip(*alone, strict=True))
        finite = np.isfinite(logits)
        log_probs: list[float] = []
        continuations = None
        scored = [row for row, member in enumerate(self._owners) if member.request.scores or member.chooses]
        if scored:
            try:
                values = self.backend.log_probs()
                continuations = self._continuations()
            except Exception as error:
                _logger.warning("the scores of %d rows failed: %s", len(scored), error)
                finite[scored] = False
                for row in scored:
                    self._owners[row].request.error = self._owners[row].request.error or str(error)
            else:
                finite[scored] &= np.isfinite(values[scored])
                log_probs = values.tolist()
        return Choices(tokens.tolist(), log_probs, continuations), finite

    def _continuations(self) -> Continuations | None:
        """Return the continuations among which strategies choose, if there are such strategies."""
        if not self._choosing:
            return None
        scores = [0.0] * len(self._owners)
        for member in self._choosing:
            for row, score in zip(member.rows, member.strategy.scores, strict=False):
                scores[row] = score
        widest = max(member.request.beam for member in self._choosing)
        return Continuations.of(self.backend.candidates(2 * widest), scores)

    def _decode_alone(self, row: int) -> StepResult:
        """Decode the next token of one row; if that fails, its logit is NaN."""
        try:
            step = self.backend.step_alone(row)
        except Exception as error:
            self._owners[row].request.error = str(error)
            return StepResult(np.zeros(1, np.int32), np.full(1, np.nan, np.float32))
        return StepResult(step.tokens.copy(), step.logits.copy())

    def _retire(self) -> None:
        """Remove the requests that have ended."""
        for index in reversed(range(len(self.members))):
            member = self.members[index]
            if member.request.end is not None:
                for row in sorted(member.rows, reverse=True):
                    self._drop(row)
                self.members[index] = self.members[-1]
                self.members.pop()
                if member in self._choosing:
                    self._choosing.remove(member)
                self._ended.append(member.request)

    def _drop(self, row: int) -> None:
        """Remove a row; the last row takes its index."""
        self.backend.retire(row)
        last = len(self._owners) - 1
        mover = self._owners[row] = self._owners[last]
        self._owners.pop()
        self.free += 1
        if row != last:
            mover.rows[mover.rows.index(last)] = row


def _kind(request: Request) -> type[BeamSearch | GreedySearch]:
    """Return the search that a request needs."""
    if request.beam > 1:
        return BranchingSearch if request.branching else BeamSearch
    return GuidedSearch if request.prefix or request.no_repeat_ngram else GreedySearch
