"""Where the HTTP side listens, and how it goes."""

import asyncio
import ssl
from functools import partial
from typing import Any

from aiohttp import web

from serving.http.guard import HEADERS, failed

LAST_WORDS = 1.0  # seconds in which answers still leave
WINDOW = 2**14  # bytes of a body that its sender may send before it is read
IDLE = 75.0  # seconds that a connection may be without a request


class Site:
    """start, stop: in one event loop."""

    def __init__(self, application: web.Application) -> None:
        self._runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=LAST_WORDS)
        self._listening: asyncio.Server | None = None

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        """-> the port; 0 has become one that was free."""
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        options: dict[str, Any] = {
            "access_log": None,
            "keepalive_timeout": IDLE,
            "auto_decompress": False,
            "read_bufsize": WINDOW,
        }
        connection: Any = partial(_Connection, loop=loop, **options)
        try:
            self._listening = await loop.create_server(
                lambda: connection(self._runner.server), host, port, ssl=tls
            )
        except OSError as error:
            raise OSError(
                f"{host}:{port} cannot be listened at: it is taken, or none of this machine; "
                "choose another --http-port, or none"
            ) from error
        return int(self._listening.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Nobody comes any more; those who are answered have LAST_WORDS."""
        if self._listening is not None:
            self._listening.close()
        await self._runner.cleanup()


class _Connection(web.RequestHandler):
    """What is no HTTP at all is told as all errors are, and its bytes are in no log."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        response = failed(status, "this is not HTTP as it should be", HEADERS)
        response.force_close()
        return response
