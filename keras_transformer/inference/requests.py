"""One sentence on its way through the engine, and the queue in which it waits."""

import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import count

NEAR = 128  # requests among which others of a length are looked for
SLACK = 64  # requests that may lie in a heap and wait no more


class End(Enum):
    """How a request ended."""

    STOP = "its end was said"
    LENGTH = "it has all the tokens it may have"
    CANCELLED = "nobody waits for it"
    EXPIRED = "its deadline passed"
    FAILED = "its step failed"
    STOPPED = "the engine was stopped"


class QueueFullError(RuntimeError):
    """As many requests wait as may, or more than a deadline allows."""

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait  # seconds that it would have waited


@dataclass(eq=False)
class Request:
    """Tokens and log_probs grow while it is decoded. The callbacks come from the engine's thread."""

    source: Sequence[int]  # with its end
    most_tokens: int
    priority: int = 0  # the highest goes first, and of one priority the oldest
    deadline: float | None = None  # by the engine's clock; nothing is begun after it
    on_token: Callable[["Request"], None] | None = None
    on_end: Callable[["Request"], None] | None = None
    tokens: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    end: End | None = None
    error: str = ""  # of a step that failed
    cancelled: bool = False
    came: float = 0.0  # by the engine's clock, as all times here
    begun: float | None = None  # when it got its row
    spoke: float | None = None  # when its first token was there

    @property
    def expected(self) -> int:
        """Tokens of the answer, as a guess: it is about as long as its source."""
        return min(len(self.source), self.most_tokens)

    def expired(self, now: float) -> bool:
        """Whether its deadline has passed."""
        return self.deadline is not None and now >= self.deadline

    def lost(self, now: float) -> End | None:
        """Why nothing more should be done for it."""
        if self.cancelled:
            return End.CANCELLED
        return End.EXPIRED if self.expired(now) else None


class Queue:
    """Requests that wait. One thread at a time."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._heap: list[tuple[int, int, Request]] = []  # some of them wait no more
        self._waiting: set[Request] = set()
        self._of_priority: Counter[int] = Counter()
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._waiting)

    def ahead_of(self, priority: int) -> int:
        """How many go before one that comes with it."""
        return sum(count for each, count in self._of_priority.items() if each >= priority)

    def check_room(self, count: int, wait: float = 0.0) -> None:
        """For so many more; or QueueFullError."""
        if len(self) + count > self.most:
            raise QueueFullError(f"{len(self):,} requests are waiting, and {self.most:,} may", wait)

    def put(self, *requests: Request) -> None:
        """All of them or none; the check and the count are one step."""
        self.check_room(len(requests))
        for request in requests:
            heapq.heappush(self._heap, (-request.priority, next(self._numbers), request))
            self._waiting.add(request)
            self._of_priority[request.priority] += 1

    def first(self) -> Request:
        """The most urgent."""
        while (request := self._heap[0][2]) not in self._waiting:
            heapq.heappop(self._heap)
        return request

    def take(self) -> Request:
        """The same; it leaves."""
        request = self.first()
        heapq.heappop(self._heap)
        self._leave(request)
        return request

    def take_alike(self, first: Request, most: int, now: float) -> list[Request]:
        """Others that wait near the head, as urgent and of the same length, the oldest first; they leave."""
        if most < 1:
            return []
        near = sorted(
            each
            for each in self._heap[:NEAR]
            if each[0] == -first.priority and len(each[2].source) == len(first.source)
        )
        alike = [each for *_, each in near if each in self._waiting and each.lost(now) is None][:most]
        for each in alike:
            self.discard(each)
        return alike

    def discard(self, request: Request) -> bool:
        """Make its room free at once. -> whether it was waiting."""
        if request not in self._waiting:
            return False
        self._leave(request)
        if len(self._heap) > 2 * len(self._waiting) + SLACK:
            self._heap = [each for each in self._heap if each[2] in self._waiting]
            heapq.heapify(self._heap)
        return True

    def _leave(self, request: Request) -> None:
        self._waiting.remove(request)
        self._of_priority[request.priority] -= 1
