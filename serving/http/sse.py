"""Server-sent events, the answer of a stream.

aiohttp has nothing for them, and aiohttp-sse does not fit: it sends the status before the first event, where
a refusal needs a status of its own, and does not bound the time in which a reader takes the last one.
"""

import asyncio
import json
from typing import Any

from aiohttp import web

from serving.errors import Refusal
from serving.http.middleware import STATUS

ERROR_TIMEOUT = 1.0  # seconds in which a reader has to take the error before the connection is cut


class Events:
    """The events of one answer, which begins with the first of them."""

    def __init__(self, request: web.Request) -> None:
        self.response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store"}
        )
        self._request = request

    @property
    def begun(self) -> bool:
        """Return whether the status has been sent."""
        return self.response.prepared

    async def send(self, kind: str, data: dict[str, Any]) -> None:
        """Send an event. Its data is JSON, which is one line."""
        if not self.begun:
            await self.response.prepare(self._request)
        await self.response.write(f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode())

    async def fail(self, refusal: Refusal) -> None:
        """Send an error as the last event; abort the connection if its reader does not take it in time."""
        try:
            async with asyncio.timeout(ERROR_TIMEOUT):
                await self.send("error", {"error": refusal.message, "status": STATUS[refusal.code]})
        except (TimeoutError, ConnectionError):
            if self._request.transport is not None:
                self._request.transport.abort()
