"""Whether requests are taken, and how many are inside."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from serving.errors import ClosedError
from serving.users import Users

LOOKS, PAUSE = 10, 0.01  # so often, after so many seconds each, nobody has come


class Door:
    """Shut at first. Used from one event loop."""

    def __init__(self) -> None:
        self._shut = "the server is getting ready: repeat it"
        self._inside = Users()
        self._came = 0  # refused ones, too

    def open(self) -> None:
        """From now on requests are taken."""
        self._shut = ""

    def shut(self) -> None:
        """For good: those inside are finished."""
        self._shut = "the server is going: repeat it elsewhere"

    def entered(self) -> Users:
        """Within it one request is inside; or ClosedError."""
        self._came += 1
        if self._shut:
            raise ClosedError(self._shut)
        return self._inside

    async def emptied(self, timeout: float) -> bool:
        """Whether all have left within so many seconds."""
        try:
            async with asyncio.timeout(timeout):  # wait_for does not even look if there is no time
                await self._inside.gone()
        except TimeoutError:
            return False
        return True

    async def quiet(self, timeout: float, idle: Callable[[], bool] = lambda: True) -> None:
        """Wait until no request has come for a while: one that was sent already is refused, and not cut off.

        Args:
            timeout: Seconds.
            idle: Whether no request is on its way to the door.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                came, looks = self._came, 0
                while looks < LOOKS:  # each of them gives a busy event loop its turn
                    await asyncio.sleep(PAUSE)
                    came, looks = self._came, looks + 1 if came == self._came and idle() else 0
