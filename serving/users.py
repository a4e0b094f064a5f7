"""How many use a thing, and when the last of them has gone."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Users:
    """None at first. Used from one event loop."""

    def __init__(self) -> None:
        self._count = 0
        self._gone = asyncio.Event()
        self._gone.set()

    @contextmanager
    def another(self) -> Iterator[None]:
        """One more, meanwhile."""
        self._count += 1
        self._gone.clear()
        try:
            yield
        finally:
            self._count -= 1
            if not self._count:
                self._gone.set()

    async def gone(self) -> None:
        """Until there is none."""
        await self._gone.wait()
