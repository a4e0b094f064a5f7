"""The thread that decodes: it takes requests from the queue, turns the batch, and tells who has ended."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from serving.batch import Batch
from serving.histogram import Histogram
from serving.niceness import give_way
from serving.pace import Pace
from serving.requests import End, Queue, QueueFullError, Request
from serving.runtime import Runtime

_logger = logging.getLogger(__name__)

Clock = Callable[[], float]

WAITS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds
STEPS = (0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)


BEHIND = 5  # how much nicer the engine's thread is than the event loop's: what waits unheard comes too late
TOGETHER = 8  # of a full batch one row in so many has to be free before the next come: they are read together


class EngineStoppedError(RuntimeError):
    """No request is taken any more."""


@dataclass
class Counts:
    """What the engine has done so far."""

    steps: int = 0
    tokens: int = 0  # over all steps: with them, the mean number of rows
    ends: Counter[End | None] = field(default_factory=Counter)  # of requests
    queue_seconds: Histogram = field(default_factory=lambda: Histogram(WAITS))  # of those that came to a row
    first_token_seconds: Histogram = field(
        default_factory=lambda: Histogram(WAITS)
    )  # the same, queue included
    step_seconds: Histogram = field(
        default_factory=lambda: Histogram(STEPS)
    )  # what the rows wait for a token

    @property
    def requests(self) -> int:
        """That have ended."""
        return self.ends.total()


class Engine:
    """One runtime and its batch. submit, cancel and stop may come from any thread."""

    def __init__(
        self,
        runtime: Runtime,
        end_id: int,
        most_waiting: int = 1024,
        prefill_tokens: int = 512,
        clock: Clock = time.monotonic,
    ) -> None:
        """`prefill_tokens`: so many source tokens are encoded between two steps at most, or one sentence."""
        self.counts = Counts()
        self._batch = Batch(runtime, end_id)
        self._queue = Queue(most_waiting)
        self._pace = Pace()
        self._prefill_tokens = prefill_tokens
        self._together = max(1, runtime.slots // TOGETHER)
        self._clock = clock
        self._changed = threading.Condition()
        self._stopping: bool | None = None  # True: what was taken is finished first
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> Self:
        """Begin to decode."""
        self._thread.start()
        return self

    @property
    def alive(self) -> bool:
        """Whether somebody decodes."""
        return self._thread.is_alive()

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return len(self._queue)

    @property
    def running(self) -> int:
        """Requests in the batch."""
        return len(self._batch.rows)

    @property
    def slots(self) -> int:
        """Requests that the batch holds."""
        return self._batch.runtime.slots

    @property
    def most_waiting(self) -> int:
        """What the queue holds."""
        return self._queue.most

    def submit(self, *requests: Request) -> None:
        """Take all, or raise QueueFullError or EngineStoppedError; on_end comes once for each taken.

        What could hardly be answered before its deadline is as if there were no room for it.
        """
        with self._changed:
            if self._stopping is not None or not self.alive:
                raise EngineStoppedError("the engine takes no more requests")
            for place, request in enumerate(requests):
                self.check_room(request.priority, request.deadline, request.expected, place)
            self._queue.put(*requests)
            now = self._clock()
            for request in requests:
                request.came = now
            self._changed.notify()

    def check_room(self, priority: int, deadline: float | None, tokens: int, others: int = 0) -> None:
        """Raise what `submit` would, while little is spent on a request yet.

        `tokens` are expected of it; `others` come with it.
        """
        waiting = self._queue.ahead_of(priority)
        wait = self._pace.wait(waiting + others)
        self._queue.check_room(others + 1, wait)
        late = deadline is not None and not self._pace.in_time(wait, deadline - self._clock(), tokens)
        if waiting >= self._together and late:  # fewer are no queue: they wait to be read together
            raise QueueFullError(f"{waiting:,} requests are waiting, too many for the deadline", wait)

    def cancel(self, request: Request) -> None:
        """Its room in the queue is free at once, its row within a step."""
        with self._changed:
            request.cancelled = True
            waited = self._queue.discard(request)
        if waited:
            self._tell([request], End.CANCELLED)

    def stop(self, finish: bool = True, timeout: float | None = None) -> bool:
        """Take nothing more; finish what was taken, or end it. -> whether the thread has ended by then."""
        with self._changed:
            self._stopping = finish
            self._changed.notify()
        self._thread.join(timeout)
        return not self.alive

    def _run(self) -> None:
        give_way(BEHIND)
        try:
            while self._wait():
                self._turn()
        except Exception:
            _logger.exception("the engine failed")
        finally:
            self._end_all()

    def _wait(self) -> bool:
        """Until there is something to do. -> whether to go on."""
        with self._changed:
            while not self._queue and not self._batch.rows and self._stopping is None:
                self._changed.wait()
            return self._stopping is None or (self._stopping and bool(self._queue or self._batch.rows))

    def _turn(self) -> None:
        now = self._clock()
        chosen, lost = self._chosen(now)
        for request in chosen:
            request.begun = now
        self._tell(lost)
        self._tell(self._batch.admit(chosen))
        spoke, ended = self._batch.step(now)
        self._measure(now, chosen, len(spoke))
        for request in spoke:
            if request.on_token is not None:
                request.on_token(request)
        rows = len(ended) + self.running
        for request in ended:
            took = self._clock() - (now if request.begun is None else request.begun)
            self._pace.left(took, rows, request.expected, request.end in (End.STOP, End.LENGTH))
        self._tell(ended)

    def _measure(self, began: float, chosen: list[Request], spoke: int) -> None:
        now, counts = self._clock(), self.counts
        for request in chosen:
            counts.queue_seconds.observe(began - request.came)
            if request.tokens:
                request.spoke = now
                counts.first_token_seconds.observe(now - request.came)
        if spoke:
            counts.steps += 1
            counts.tokens += spoke
            counts.step_seconds.observe(now - began)

    def _chosen(self, now: float) -> tuple[list[Request], list[Request]]:
        """-> those that come into the batch, and those for which it is too late.

        The most urgent comes with others of its length. Where many wait, it does not come alone.
        """
        chosen: list[Request] = []
        lost: list[Request] = []
        tokens = 0
        with self._changed:
            if self._batch.rows and self._batch.free < min(self._together, len(self._queue)):
                return chosen, lost
            while self._queue and len(chosen) < self._batch.free:
                first = self._queue.first()
                if (end := first.lost(now)) is not None:
                    first.end = end
                    lost.append(self._queue.take())
                    continue
                tokens += len(first.source)
                if chosen and tokens > self._prefill_tokens:
                    break
                chosen.append(self._queue.take())
                room = (self._prefill_tokens - tokens) // len(first.source)
                alike = self._queue.take_alike(first, min(self._batch.free - len(chosen), room), now)
                tokens += len(alike) * len(first.source)
                chosen += alike
        return chosen, lost

    def _end_all(self) -> None:
        with self._changed:
            self._stopping = False
            waiting = [self._queue.take() for _ in range(len(self._queue))]
        self._tell(self._batch.leave(End.STOPPED))
        self._tell(waiting, End.STOPPED)

    def _tell(self, requests: list[Request], end: End | None = None) -> None:
        for request in requests:
            request.end = end or request.end
            self.counts.ends[request.end] += 1
            if request.on_end is not None:
                request.on_end(request)
