"""A counter of users with a wait until there are none."""

import asyncio


class Users:
    """Counter that is higher by one inside `with users:`, for use from one event loop."""

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

    def __bool__(self) -> bool:
        return self._count > 0

    async def gone(self) -> None:
        """Wait until there is no user."""
        await self._gone.wait()
