"""How many use a thing, and when the last of them has gone."""

import asyncio


class Users:
    """None at first; within `with users:` there is one more. Used from one event loop."""

    def __init__(self) -> None:
        self._count = 0
        self._gone = asyncio.Event()
        self._gone.set()

    def __enter__(self) -> None:
        self._count += 1
        self._gone.clear()

    def __exit__(self, *error: object) -> None:
        self._count -= 1
        if not self._count:
            self._gone.set()

    async def gone(self) -> None:
        """Until there is none."""
        await self._gone.wait()
