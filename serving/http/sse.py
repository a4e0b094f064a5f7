"""Server-sent events, the answer of a stream."""

import asyncio
import json
from typing import Any

from aiohttp import web

from serving.errors import Refusal
from serving.http.middleware import STATUS

LAST_WORDS = 1.0  # seconds in which a reader has to take the error; then the connection is cut


class Events:
    """The answer begins with the first of them."""

    def __init__(self, request: web.Request) -> None:
        self.response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store"}
        )
        self._request = request

    @property
    def begun(self) -> bool:
        """Whether the status has left already."""
        return self.response.prepared

    async def send(self, kind: str, data: dict[str, Any]) -> None:
        """One; JSON has no line ends of its own."""
        if not self.begun:
            await self.response.prepare(self._request)
        await self.response.write(f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode())

    async def fail(self, told: Refusal) -> None:
        """The last one, if its reader takes it."""
        try:
            async with asyncio.timeout(LAST_WORDS):
                await self.send("error", {"error": told.message, "status": STATUS[told.code]})
        except (TimeoutError, ConnectionError):
            if self._request.transport is not None:
                self._request.transport.abort()
