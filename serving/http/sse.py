"""Server-sent events, the answer of a stream.

aiohttp has no support for them, and aiohttp-sse does not fit: it sends the status before the first event,
although a refusal needs its own status, and it does not limit the time in which a reader takes the last one.
"""

import asyncio
import json
from typing import Any

from aiohttp import web

from serving.errors import Refusal
from serving.http.middleware import STATUS

ERROR_TIMEOUT = 1.0  # seconds after which the connection of a reader that does not take the error is cut


class Events:
    """Server-sent events of one answer, which begins with the first event."""

    def __init__(self, request: web.Request) -> None:
        self.response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store"}
        )
        self._request = request

    @property
    def begun(self) -> bool:
        """Whether the status has been sent."""
        return self.response.prepared

    async def send(self, kind: str, data: dict[str, Any]) -> None:
        """Send an event, whose data is one line of JSON."""
        if not self.begun:
            await self.response.prepare(self._request)
        await self.response.write(f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode())

    async def fail(self, refusal: Refusal) -> None:
        """Send an error as the last event, and abort the connection of a reader that does not take it."""
        try:
            async with asyncio.timeout(ERROR_TIMEOUT):
                await self.send("error", {"error": refusal.message, "status": STATUS[refusal.code]})
        except (TimeoutError, ConnectionError):
            if self._request.transport is not None:
                self._request.transport.abort()
