"""The queue in which requests wait for a row of the batch."""

import heapq
from collections import Counter
from itertools import count

from keras_transformer.inference.request import Request

NEAR = 128  # requests near the head among which others of the same length are looked for
SLACK = 64  # discarded requests that may stay in the heap


class QueueFullError(RuntimeError):
    """The queue is full, or too long for the deadline of a request."""

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait  # seconds that the request would have waited


class Queue:
    """Requests by priority, then by age. Not safe for several threads at once."""

    def __init__(self, max_requests: int) -> None:
        self.max_requests = max_requests
        self._heap: list[tuple[int, int, Request]] = []  # may hold requests that were discarded
        self._waiting: set[Request] = set()
        self._of_priority: Counter[int] = Counter()
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._waiting)

    def ahead_of(self, priority: int) -> int:
        """Return how many waiting requests go before a new one of this priority."""
        return sum(count for other, count in self._of_priority.items() if other >= priority)

    def check_room(self, count: int, wait: float = 0.0) -> None:
        """Raise QueueFullError unless `count` more requests fit."""
        if len(self) + count > self.max_requests:
            raise QueueFullError(f"{len(self):,} requests are waiting, and {self.max_requests:,} may", wait)

    def put(self, *requests: Request) -> None:
        """Add all requests, or none of them: then it raises QueueFullError."""
        self.check_room(len(requests))
        for request in requests:
            heapq.heappush(self._heap, (-request.priority, next(self._numbers), request))
            self._waiting.add(request)
            self._of_priority[request.priority] += 1

    def first(self) -> Request:
        """Return the most urgent request."""
        while (request := self._heap[0][2]) not in self._waiting:
            heapq.heappop(self._heap)
        return request

    def take(self) -> Request:
        """Remove and return the most urgent request."""
        request = self.first()
        heapq.heappop(self._heap)
        self._leave(request)
        return request

    def take_alike(self, first: Request, max_count: int, now: float) -> list[Request]:
        """Remove and return requests near the head with the priority, length and beam of `first`."""
        if max_count < 1:
            return []
        near = sorted(
            item
            for item in self._heap[:NEAR]
            if item[0] == -first.priority
            and (len(item[2].source), item[2].beam) == (len(first.source), first.beam)
        )
        alike = [item for *_, item in near if item in self._waiting and item.lost(now) is None][:max_count]
        for request in alike:
            self.discard(request)
        return alike

    def discard(self, request: Request) -> bool:
        """Remove a request wherever it stands, and return whether it was waiting."""
        if request not in self._waiting:
            return False
        self._leave(request)
        if len(self._heap) > 2 * len(self._waiting) + SLACK:
            self._heap = [item for item in self._heap if item[2] in self._waiting]
            heapq.heapify(self._heap)
        return True

    def _leave(self, request: Request) -> None:
        self._waiting.remove(request)
        self._of_priority[request.priority] -= 1
