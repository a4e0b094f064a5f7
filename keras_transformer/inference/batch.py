"""Continuous batching, without threads or a clock: at every turn some come, all go a step on, some leave."""

import logging
import math
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import NamedTuple

from keras_transformer.inference.backend import Runtime
from keras_transformer.inference.requests import End, Request

_logger = logging.getLogger(__name__)


class Turn(NamedTuple):
    """What a step has changed."""

    spoke: list[Request]  # those with a token more
    ended: list[Request]  # with it, or without


class Batch:
    """The requests that are being decoded; row i of the runtime is rows[i]."""

    def __init__(self, runtime: Runtime, end_id: int) -> None:
        self.runtime = runtime
        self.end_id = end_id
        self.rows: list[Request] = []

    @property
    def free(self) -> int:
        """How many may come."""
        return self.runtime.slots - len(self.rows)

    def admit(self, requests: Iterable[Request]) -> list[Request]:
        """Sentences of one length are encoded together. -> those whose encoding failed."""
        failed = []
        for _, group in groupby(sorted(requests, key=_length), key=_length):
            alike = list(group)
            if self._fails(alike):  # one of them may be at fault: the others must not suffer
                failed += [each for each in alike if len(alike) == 1 or self._fails([each])]
        for request in failed:
            request.end = End.FAILED
        return failed

    def step(self, now: float) -> Turn:
        """All that are still waited for go a step on."""
        lost = self._retire(lambda request: request.lost(now))
        if not self.rows:
            return Turn([], lost)
        self._go_on()
        spoke = [request for request in self.rows if not request.error]
        return Turn(spoke, lost + self._retire(self._over))

    def leave(self, end: End) -> list[Request]:
        """Everyone has to go; the runtime, which may be broken, is not asked any more."""
        rows, self.rows = self.rows, []
        for request in rows:
            request.end = end
        return rows

    def _fails(self, alike: list[Request]) -> bool:
        try:
            self.runtime.admit([request.source for request in alike])
        except Exception as error:
            _logger.warning("encoding %d sentences failed: %s", len(alike), error)
            for request in alike:
                request.error = str(error)
            return True
        for request in alike:
            request.error = ""
        self.rows += alike
        return False

    def _go_on(self) -> None:
        try:
            tokens, log_probs = self.runtime.step()
            said = list(zip(tokens.tolist(), log_probs.tolist(), strict=True))
        except Exception as error:
            _logger.warning("a step of %d rows failed: %s", len(self.rows), error)
            said = [self._alone(row) for row in range(len(self.rows))]
        for request, (token, log_prob) in zip(self.rows, said, strict=True):
            if not math.isfinite(log_prob):
                request.error = request.error or "the model gave no number"
            else:
                request.tokens.append(token)
                request.log_probs.append(log_prob)

    def _alone(self, row: int) -> tuple[int, float]:
        try:
            return self.runtime.step_alone(row)
        except Exception as error:
            self.rows[row].error = str(error)
            return 0, math.nan

    def _over(self, request: Request) -> End | None:
        if request.error:
            return End.FAILED
        if request.tokens[-1] == self.end_id:
            return End.STOP
        return End.LENGTH if len(request.tokens) == request.most_tokens else None

    def _retire(self, why: Callable[[Request], End | None]) -> list[Request]:
        ended = []
        for row in reversed(range(len(self.rows))):
            request = self.rows[row]
            request.end = why(request)
            if request.end is not None:
                self.runtime.retire(row)
                self.rows[row] = self.rows[-1]
                self.rows.pop()
                ended.append(request)
        return ended


def _length(request: Request) -> int:
    return len(request.source)
