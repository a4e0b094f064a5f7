"""The queue of requests that wait for a row of the batch."""

import heapq
from collections import Counter
from itertools import count

from keras_transformer.inference.request import Request

NEAR = 128  # number of requests at the head that are searched for others of the same length
SLACK = 64  # number of discarded requests that may stay in the heap


class QueueFullError(RuntimeError):
    """Error of a request for which the queue has no room, or which would not end before its deadline.

    Args:
        message: The error text.
        wait: Seconds that the request would have waited.
    """

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


class Queue:
    """Queue of requests by priority, then by age. Requests of equal length may be taken together.

    It is not thread-safe.

    Attributes:
        waiting: The requests in the queue.
    """

    def __init__(self, max_requests: int) -> None:
        self.max_requests = max_requests
        self.waiting: set[Request] = set()
        self._heap: list[tuple[int, int, Request]] = []  # may hold requests that were discarded
        self._rows: Counter[int] = Counter()  # number of rows by priority
        self._numbers = count()

    def ahead_of(self, priority: int) -> int:
        """Return the number of rows of the waiting requests that come before a new one of this priority."""
        return sum(rows for other, rows in self._rows.items() if other >= priority)

    def overflow(self, wait: float = 0.0) -> QueueFullError:
        """Return the error of a full queue.

        Args:
            wait: Seconds that a request would have waited.
        """
        waiting = f"{len(self.waiting):,} requests are waiting; the limit is {self.max_requests:,}"
        return QueueFullError(f"{waiting}. Repeat the request later.", wait)

    def put(self, *requests: Request) -> None:
        """Add all requests, or none of them.

        Raises:
            QueueFullError: If there is not enough room for all.
        """
        if len(self.waiting) + len(requests) > self.max_requests:
            raise self.overflow()
        for request in requests:
            heapq.heappush(self._heap, (-request.priority, next(self._numbers), request))
            self.waiting.add(request)
            self._rows[request.priority] += request.beam

    def take(self, max_rows: int, max_tokens: int, now: float) -> tuple[list[Request], list[Request]]:
        """Remove and return the most urgent requests, each with others of its length and beam.

        A beam that is wider than the number of free rows holds back the requests after it until it has enough
        rows.

        Args:
            max_rows: Largest number of rows of all these requests.
            max_tokens: Largest number of source tokens of all these requests; the first request may have
                more.
            now: Current time of the clock that deadlines refer to.

        Returns:
            The requests to decode, and those that are cancelled or expired, with their ends.
        """
        chosen: list[Request] = []
        lost: list[Request] = []
        while self._heap and max_rows:
            item = heapq.heappop(self._heap)
            request = item[-1]
            if request not in self.waiting:
                continue
            length = len(request.source)
            request.end = request.lost(now)
            if request.end is None and (request.beam > max_rows or (chosen and length > max_tokens)):
                heapq.heappush(self._heap, item)
                break
            self.waiting.remove(request)
            self._rows[request.priority] -= request.beam
            if request.end is not None:
                lost.append(request)
                continue
            alike = [request]
            max_others = min(max_rows // request.beam, max_tokens // length) - 1
            if self.waiting and max_others > 0:
                alike += self._take_alike(request, max_others, now)
            chosen += alike
            max_rows -= len(alike) * request.beam
            max_tokens -= len(alike) * length
        return chosen, lost

    def clear(self) -> list[Request]:
        """Remove and return all requests, in any order."""
        requests = list(self.waiting)
        self._heap.clear()
        self.waiting.clear()
        self._rows.clear()
        return requests

    def discard(self, request: Request) -> bool:
        """Remove a request from any position, and return whether it was waiting."""
        if request not in self.waiting:
            return False
        self.waiting.remove(request)
        self._rows[request.priority] -= request.beam
        if len(self._heap) > 2 * len(self.waiting) + SLACK:
            self._heap = [item for item in self._heap if item[-1] in self.waiting]
            heapq.heapify(self._heap)
        return True

    def _take_alike(self, first: Request, max_count: int, now: float) -> list[Request]:
        """Remove and return requests near the head with the priority, length and beam of `first`."""
        near = sorted(
            item
            for item in self._heap[:NEAR]
            if item[0] == -first.priority
            and (len(item[-1].source), item[-1].beam) == (len(first.source), first.beam)
        )
        alike = [item for *_, item in near if item in self.waiting and item.lost(now) is None][:max_count]
        for request in alike:
            self.discard(request)
        return alike
