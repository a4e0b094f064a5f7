"""Limits of arriving messages and bodies: their number at the same time, and the time that each may take."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from google.rpc.code_pb2 import Code

from serving.errors import RETRY_AFTER, Refusal, RefusedError

MAX_ARRIVING = 16  # messages and bodies that are read at the same time
MAX_OF_CONNECTION = 8  # of these for one connection
MAX_RUNNING = 1_024  # running calls of one connection
MAX_UNREAD = 2_048  # requests that wait to be read; each buffers at most a flow-control window
SECONDS = 10.0  # to wait for a turn, and then for the message to arrive
CROWDED_SECONDS = 0.5  # for the message to arrive while others wait to be read


@dataclass(eq=False)
class _Arrival:
    """A message that is being read."""

    began: float
    limit: asyncio.Timeout


class Intake:
    """Limit of the messages that are read at the same time, for use from one event loop.

    At most MAX_ARRIVING messages are read at the same time. Others are not read, so flow control stops their
    senders. Connections take turns, and one that has just begun to wait comes first: a connection with many
    unfinished messages does not delay the others.
    """

    def __init__(self) -> None:
        self._arrivals: set[_Arrival] = set()
        self._admitted: Counter[str] = Counter()  # number of messages being read, by connection
        self._running: Counter[str] = Counter()  # number of running calls, by connection
        self._turns: OrderedDict[str, dict[asyncio.Future[None], None]] = OrderedDict()
        self._waiting = 0

    @property
    def idle(self) -> bool:
        """Whether no message arrives or waits to be read."""
        return not self._arrivals and not self._waiting

    @asynccontextmanager
    async def arriving(self, connection: str) -> AsyncIterator[None]:
        """Wait for a turn to read one message, and limit the time of reading it inside.

        Args:
            connection: Name of the sender's connection.

        Raises:
            RefusedError: If the message did not arrive in time, or too many others arrive.
        """
        await self._admit(connection)
        began = asyncio.get_running_loop().time()
        limit = asyncio.timeout_at(began + (CROWDED_SECONDS if self._waiting else SECONDS))
        arrival = _Arrival(began, limit)
        self._arrivals.add(arrival)
        try:
            async with limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            if asyncio.get_running_loop().time() < began + SECONDS:
                raise _crowded() from None
            message = f"the message did not arrive within {SECONDS:g} s. Send it faster, or split it."
            raise RefusedError(Refusal(Code.DEADLINE_EXCEEDED, message)) from None
        finally:
            self._arrivals.remove(arrival)
            self._release(self._admitted, connection)

    @contextmanager
    def running(self, connection: str) -> Iterator[None]:
        """Run a call inside; a connection with MAX_RUNNING calls waits with its next message."""
        self._running[connection] += 1
        try:
            yield
        finally:
            self._release(self._running, connection)

    async def _admit(self, connection: str) -> None:
        if self._has_room(connection):
            self._admitted[connection] += 1
            return
        if self._waiting == MAX_UNREAD:
            raise _crowded()
        turn = asyncio.get_running_loop().create_future()
        if connection not in self._turns:
            self._turns[connection] = {}
            self._turns.move_to_end(connection, last=False)
        self._turns[connection][turn] = None
        self._waiting += 1
        self._hurry()
        try:
            async with asyncio.timeout(SECONDS):
                await turn
        except BaseException as error:
            if turn.cancelled():
                self._forget(connection, turn)
            else:  # its turn came at the same time
                self._release(self._admitted, connection)
            if isinstance(error, TimeoutError):
                raise _crowded() from None
            raise
        finally:
            self._waiting -= 1

    def _has_room(self, connection: str) -> bool:
        arriving = self._admitted[connection]
        return (
            self._admitted.total() < MAX_ARRIVING
            and arriving < MAX_OF_CONNECTION
            and arriving + self._running[connection] < MAX_RUNNING
        )

    def _hurry(self) -> None:
        """Shorten the time limit of arriving messages, because others wait."""
        for arrival in self._arrivals:
            soon = arrival.began + CROWDED_SECONDS
            if not arrival.limit.expired() and (arrival.limit.when() or soon) > soon:
                arrival.limit.reschedule(soon)

    def _release(self, counts: Counter[str], connection: str) -> None:
        """Free the slot, and admit the next request for which there is room."""
        counts[connection] -= 1
        if not counts[connection]:
            del counts[connection]
        turns = ((waiting, turn) for waiting in self._turns for turn in self._turns[waiting])
        for waiting, turn in turns:
            if self._has_room(waiting) and not turn.done():
                self._admitted[waiting] += 1
                turn.set_result(None)
                self._forget(waiting, turn)
                return

    def _forget(self, connection: str, turn: asyncio.Future[None]) -> None:
        """Remove a turn, and move its connection to the end of the queue."""
        del self._turns[connection][turn]
        if self._turns[connection]:
            self._turns.move_to_end(connection)
        else:
            del self._turns[connection]


def _crowded() -> RefusedError:
    message = "too many messages arrive at the same time. Repeat the request later."
    return RefusedError(Refusal(Code.RESOURCE_EXHAUSTED, message, retry_after=RETRY_AFTER))
