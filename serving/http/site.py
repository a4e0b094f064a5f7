"""Where the HTTP side listens, and how it goes."""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from typing import Any, cast

from aiohttp import HttpVersion10, HttpVersion11, web

from serving.http.guard import HEADERS, failed
from serving.tls import in_address

_logger = logging.getLogger(__name__)

Handle = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

LAST_WORDS = 1.0  # seconds in which answers still leave
WINDOW = 2**14  # bytes of a body that its sender may send before it is read
BACKLOG = 32  # connections that are accepted at once; descriptors.RESERVE has room for them
IDLE = 75.0  # seconds that a connection may be without a request


class Site:
    """start, stop: in one event loop."""

    def __init__(self, application: web.Application, max_connections: int) -> None:
        application.on_response_prepare.append(self._dress)
        self._leaving = False
        self._runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=LAST_WORDS)
        self._connections = _Connections(max_connections)
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
        server: Any = self._runner.server
        server.request_handler = _strict(server.request_handler)
        connection: Any = partial(_Connection, self._connections, loop=loop, **options)
        try:
            self._listening = await loop.create_server(
                lambda: connection(server), host, port, ssl=tls, backlog=BACKLOG
            )
        except OSError as error:
            raise OSError(
                f"{in_address(host)}:{port} cannot be listened at: it is taken, or none of this machine; "
                "choose another --http-port, or none"
            ) from error
        return int(self._listening.sockets[0].getsockname()[1])

    def leave(self) -> None:
        """From now on each answer is the last one of its connection, and says so."""
        self._leaving = True

    def refuse(self) -> None:
        """Take no new connections."""
        if self._listening is not None:
            self._listening.close()

    async def stop(self) -> None:
        """End; those who are answered have LAST_WORDS."""
        self.refuse()
        await self._runner.cleanup()

    async def _dress(self, request: web.Request, response: web.StreamResponse) -> None:
        if self._leaving:
            response.force_close()
            response.headers["Connection"] = "close"


def _strict(handle: Handle) -> Handle:
    """Refuse what the parser takes and HTTP/1.1 does not have; nothing of the request is repeated."""

    async def checked(request: web.BaseRequest) -> web.StreamResponse:
        if request.version not in (HttpVersion10, HttpVersion11):
            return _refused(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "HTTP/1.1 is spoken here")
        if request.version == HttpVersion10 and "Transfer-Encoding" in request.headers:
            return _refused(HTTPStatus.BAD_REQUEST, "HTTP/1.0 has no Transfer-Encoding")
        if request.headers.get("Expect", "100-continue").lower() != "100-continue":
            return _refused(HTTPStatus.EXPECTATION_FAILED, "Expect may be 100-continue alone")
        with cast(_Connection, request.protocol).answering():
            return await handle(request)

    return checked


def _refused(status: int, message: str) -> web.Response:
    response = failed(status, message, HEADERS)
    response.force_close()
    return response


class _Connections:
    """The open connections of a site, a bounded number: the one that is idle for longest makes room."""

    def __init__(self, max_connections: int) -> None:
        self._max = max_connections
        self._open: dict[_Connection, None] = {}  # those that were used last are last
        self._full = False

    def add(self, connection: "_Connection") -> bool:
        """Return whether there is room for it."""
        if len(self._open) >= self._max:
            self._warn()
            idle = next((each for each in self._open if not each.busy), None)
            if idle is None:
                return False
            self.remove(idle)
            idle.force_close()
        self._open[connection] = None
        return True

    def remove(self, connection: "_Connection") -> None:
        """Forget one that is closed, or about to be."""
        self._open.pop(connection, None)
        if len(self._open) < self._max // 2:
            self._full = False

    def used(self, connection: "_Connection") -> None:
        """Move it behind the others."""
        if connection in self._open:
            del self._open[connection]
            self._open[connection] = None

    def _warn(self) -> None:
        if not self._full:
            self._full = True
            _logger.warning(
                "all %d HTTP connections are taken, and idle ones are closed for new ones: "
                "raise the limit of open files (ulimit -n)",
                self._max,
            )


class _Connection(web.RequestHandler):
    """What is no HTTP at all is told as all errors are, and its bytes are in no log."""

    __slots__ = ("_connections", "busy")

    def __init__(self, connections: _Connections, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._connections = connections
        self.busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if not self._connections.add(self):
            self.force_close()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._connections.remove(self)
        super().connection_lost(exc)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Answer a request inside: meanwhile the connection is not idle."""
        self.busy = True
        try:
            yield
        finally:
            self.busy = False
            self._connections.used(self)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        return _refused(status, "this is not HTTP as it should be")
