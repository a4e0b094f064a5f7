"""The gate of the service for every protocol, which accepts or refuses calls and records each of them."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from time import monotonic

from google.rpc.code_pb2 import Code

from serving.api.context import CallContext
from serving.errors import ClosedError, RefusedError, refusal
from serving.registry.users import Users

QUIET_POLLS, POLL_SECONDS = 10, 0.01  # quiet means: this number of polls, this far apart, without a new call

Observer = Callable[[CallContext], None]


class Gate:
    """Gate that opens a context for each call, and counts the calls inside.

    It is shut at first, and must be used from one event loop.

    Args:
        observers: Called in order with the context when a call is over, in the event loop. They must be fast.
    """

    def __init__(self, observers: Sequence[Observer] = ()) -> None:
        self._observers = observers
        self._shut = "the server is starting. Repeat the request."
        self._inside = Users()
        self._arrived = 0  # number of calls, including refused ones
        self._answers = asyncio.Event()  # set while refusals are sent
        self._answers.set()

    def open(self) -> None:
        """Accept calls from now on."""
        self._shut = ""

    def shut(self) -> None:
        """Refuse new calls; calls inside are finished."""
        self._shut = "the server is shutting down. Repeat the request at another server."

    def hold(self) -> None:
        """Delay refusals: a caller that waits for its answer sends no further call."""
        self._answers.clear()

    def release(self) -> None:
        """Send the delayed refusals, and further ones at once."""
        self._answers.set()

    async def released(self) -> None:
        """Wait until a refusal may be sent."""
        await self._answers.wait()

    @contextmanager
    def call(
        self,
        method: str,
        protocol: str,
        timeout: float | None = None,
        metadata: Iterable[tuple[str, str | bytes]] = (),
    ) -> Iterator[CallContext]:
        """Open the context of one call.

        Args:
            method: Name of the RPC.
            protocol: "grpc" or "http".
            timeout: Seconds that the caller waits.
            metadata: Headers of the call.

        Raises:
            RefusedError: For every exception inside, and if the gate is shut; a cancellation is not
                converted.
        """
        self._arrived += 1
        now = monotonic()
        context = CallContext(method, protocol, now, None if timeout is None else now + timeout, metadata)
        try:
            if self._shut:
                raise ClosedError(self._shut)
            with self._inside:
                yield context
        except Exception as error:
            refused = refusal(error)
            context.code = refused.code
            raise RefusedError(refused) from error
        except BaseException:
            context.code = Code.DEADLINE_EXCEEDED if context.late else Code.CANCELLED
            raise
        finally:
            context.seconds = monotonic() - context.arrived_at
            for observe in self._observers:
                observe(context)

    async def emptied(self, timeout: float) -> bool:
        """Wait until no call is inside, and return whether that happened within `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout):  # wait_for does not check the state if timeout is 0
                await self._inside.gone()
        except TimeoutError:
            return False
        return True

    async def quiet(self, timeout: float, idle: Callable[[], bool] = lambda: True) -> None:
        """Wait until no call has arrived for a while, so that a call already sent is refused, not cut off.

        Args:
            timeout: Largest number of seconds to wait.
            idle: Returns whether no call is on its way to the gate.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                arrived, polls = self._arrived, 0
                while polls < QUIET_POLLS:  # each sleep lets the event loop process arrivals
                    await asyncio.sleep(POLL_SECONDS)
                    arrived, polls = self._arrived, polls + 1 if arrived == self._arrived and idle() else 0
