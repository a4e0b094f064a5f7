"""The engine: a thread that moves requests from the queue into the batch, and steps the batch."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from keras_transformer.inference.backend import Backend
from keras_transformer.inference.batch import Batch, Turn
from keras_transformer.inference.queue import Queue, QueueFullError
from keras_transformer.inference.request import End, Request
from serving.engine.latency import LatencyEstimate
from serving.engine.niceness import give_way
from serving.engine.statistics import Histogram

_logger = logging.getLogger(__name__)

Clock = Callable[[], float]

NICENESS = 5  # of the engine's thread, so that the event loop can still refuse requests in time
TOGETHER = 8  # requests join a running batch when min(slots / TOGETHER, waiting) rows are free
MAX_BEAM = 8  # largest number of rows of a request
WAITS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds
STEPS = (0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)


class EngineStoppedError(RuntimeError):
    """Error of a request to an engine that accepts no more requests."""


@dataclass
class Counts:
    """Counters of an engine since its start.

    Attributes:
        steps: Steps of the decoder.
        tokens: Decoded tokens of all rows of a beam; divided by the steps, the mean number of rows.
        ends: Ended requests by their ends.
        queue_seconds: Time from the submission of a request to its row.
        first_token_seconds: Time from the submission to the first token.
        step_seconds: Duration of a step, with the encoding before it.
    """

    steps: int = 0
    tokens: int = 0
    ends: Counter[End | None] = field(default_factory=Counter)
    queue_seconds: Histogram = field(default_factory=lambda: Histogram(WAITS))
    first_token_seconds: Histogram = field(default_factory=lambda: Histogram(WAITS))
    step_seconds: Histogram = field(default_factory=lambda: Histogram(STEPS))


class Engine:
    """Backend, batch and queue. Any thread may call `submit`, `cancel` and `stop`.

    Args:
        backend: Runtime that decodes.
        end_id: Id of the token that ends a sentence.
        max_waiting: Largest number of requests in the queue.
        prefill_tokens: Largest number of source tokens that are encoded between two steps; one longer request
            may have more.
        clock: Clock of all times and deadlines.
    """

    def __init__(
        self,
        backend: Backend,
        end_id: int,
        max_waiting: int = 1024,
        prefill_tokens: int = 512,
        clock: Clock = time.monotonic,
    ) -> None:
        self.counts = Counts()
        self.max_waiting = max_waiting
        self._batch = Batch(backend, end_id)
        self._queue = Queue(max_waiting)
        self._latency = LatencyEstimate()
        self._prefill_tokens = prefill_tokens
        self._together = max(1, backend.slots // TOGETHER)
        self._clock = clock
        self._changed = threading.Condition()
        self._stopping: bool | None = None  # True: finish the requests first; None: not stopping
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> Self:
        """Start the thread, and return the engine."""
        self._thread.start()
        return self

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    @property
    def waiting(self) -> int:
        """Number of requests in the queue."""
        return len(self._queue.waiting)

    @property
    def running(self) -> int:
        """Number of requests in the batch."""
        return len(self._batch)

    @property
    def slots(self) -> int:
        """Number of rows of the batch."""
        return self._batch.backend.slots

    @property
    def max_beam(self) -> int:
        """Largest width of a request's beam; 1 if the backend decodes greedily."""
        return min(MAX_BEAM, self.slots) if self.has_candidates else 1

    @property
    def has_candidates(self) -> bool:
        """Whether the backend returns candidates; otherwise it decodes greedily, and without prefixes."""
        return self._batch.backend.has_candidates

    def submit(self, *requests: Request) -> None:
        """Add requests to the queue: all, or none. `on_end` is called once for each request that was added.

        Raises:
            QueueFullError: If there is not enough room, or a request would probably miss its deadline.
            EngineStoppedError: If the engine accepts no more requests.
        """
        with self._changed:
            if self._stopping is not None or not self._thread.is_alive():
                raise EngineStoppedError("the engine takes no more requests")
            rows = 0
            for index, request in enumerate(requests):
                expected = min(len(request.source), request.max_tokens)
                self.check_room(request.priority, request.deadline, expected, index, rows)
                rows += request.beam
            self._queue.put(*requests)
            now = self._clock()
            for request in requests:
                request.submitted_at = now
            self._changed.notify()

    def check_room(
        self, priority: int, deadline: float | None, tokens: int = 1, others: int = 0, rows: int = 0
    ) -> int:
        """Refuse early what `submit` would refuse, before work is spent on a request.

        Args:
            priority: Priority of the request.
            deadline: Deadline of the request, by the engine's clock.
            tokens: Expected length of its answer.
            others: Number of requests before it in the same call of `submit`.
            rows: Number of rows of these requests.

        Returns:
            The number of waiting requests.

        Raises:
            QueueFullError: If there is no room, or the request would probably miss its deadline.
        """
        waiting = len(self._queue.waiting)
        if waiting + others >= self.max_waiting:
            raise self._queue.overflow(self._latency.wait(self._queue.ahead_of(priority) + rows))
        if deadline is not None and waiting:
            ahead = self._queue.ahead_of(priority)
            wait = self._latency.wait(ahead + rows)
            left = deadline - self._clock()
            # fewer rows are not a queue: they only wait to be encoded together
            if ahead >= self._together and not self._latency.in_time(wait, left, tokens):
                message = (
                    f"{waiting:,} requests are waiting, too many for the deadline. Repeat the request later."
                )
                raise QueueFullError(message, wait)
        return waiting

    def cancel(self, request: Request) -> None:
        """Cancel a request. Its place in the queue is free at once, its rows after the current step."""
        with self._changed:
            request.cancelled = True
            waited = self._queue.discard(request)
        if waited:
            request.end = End.CANCELLED
            self._report([request])

    def stop(self, finish: bool = True, timeout: float | None = None) -> bool:
        """Accept no more requests.

        Args:
            finish: Whether to finish submitted requests first; otherwise they end as STOPPED.
            timeout: Seconds to wait for the end of the thread.

        Returns:
            Whether the thread has ended.
        """
        with self._changed:
            self._stopping = finish
            self._changed.notify()
        self._thread.join(timeout)
        return not self.alive

    def _run(self) -> None:
        give_way(NICENESS)
        try:
            while self._wait_for_work():
                self._turn()
        except Exception:
            _logger.exception("the engine failed")
        finally:
            self._end_all()

    def _wait_for_work(self) -> bool:
        """Wait until there is work, and return whether to continue."""
        with self._changed:
            while not self._queue.waiting and not self._batch.members and self._stopping is None:
                self._changed.wait()
            unfinished = self._queue.waiting or self._batch.members
            return self._stopping is None or (self._stopping and bool(unfinished))

    def _turn(self) -> None:
        """Admit requests for which there is room, decode the next token of all, and report ended requests."""
        now, batch = self._clock(), self._batch
        with self._changed:
            wanted = min(self._together, len(self._queue.waiting))
            rows = batch.free if batch.free >= wanted or not batch.members else 0
            chosen, lost = self._queue.take(rows, self._prefill_tokens, now)
        for request in chosen:
            request.admitted_at = now
        failed = batch.admit(chosen)
        if lost or failed:
            self._report(lost + failed)
        turn = batch.step(now)
        self._measure(now, chosen, turn)
        for request in turn.advanced:
            if request.on_token is not None:
                request.on_token(request)
        self._report(turn.ended)

    def _measure(self, began: float, chosen: list[Request], turn: Turn) -> None:
        """Record a turn in the counters and in the latency estimate."""
        now, counts = self._clock(), self.counts
        for request in chosen:
            counts.queue_seconds.observe(began - request.submitted_at)
            if request.tokens and request.beam == 1:
                request.first_token_at = now
                counts.first_token_seconds.observe(now - request.submitted_at)
        if turn.advanced:
            counts.steps += 1
            counts.tokens += turn.rows
            counts.step_seconds.observe(now - began)
        for request in turn.ended:
            if request.beam > 1 and request.tokens:  # a beam has none before its end
                request.first_token_at = now
                counts.first_token_seconds.observe(now - request.submitted_at)
            seconds = now - (began if request.admitted_at is None else request.admitted_at)
            expected = min(len(request.source), request.max_tokens)
            answered = request.end is not None and request.end.answered
            self._latency.left(seconds, max(turn.rows, request.beam), expected, answered)

    def _end_all(self) -> None:
        """End all requests, because the thread stops."""
        with self._changed:
            self._stopping = False
            waiting = self._queue.clear()
        for request in waiting:
            request.end = End.STOPPED
        self._report(self._batch.leave(End.STOPPED) + waiting)

    def _report(self, requests: list[Request]) -> None:
        """Count requests that have ended, and notify their callers."""
        for request in requests:
            self.counts.ends[request.end] += 1
            if request.on_end is not None:
                request.on_end(request)
