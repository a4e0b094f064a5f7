"""Listener of the HTTP protocol: its connections, and its shutdown."""

import asyncio
import logging
import select
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http import HTTPStatus
from typing import Any, cast

from aiohttp import HttpVersion10, HttpVersion11, web
from aiohttp.http import HttpRequestParser

from serving.addresses import in_address
from serving.http.middleware import HEADERS, failed

_logger = logging.getLogger(__name__)

Handle = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

CLOSING = 1.0  # seconds for sending answers at the shutdown
WINDOW = 2**14  # bytes of a body that are buffered before it is read
BACKLOG = 32  # connections accepted at once; descriptors.RESERVE is large enough for them
IDLE = 75.0  # seconds after which a connection without a request is closed


class Site:
    """Listener for an application, used from one event loop.

    Call `start`, `leave`, `refuse` and `stop` in this order.

    Args:
        application: The application.
        max_connections: Largest number of open connections.
    """

    def __init__(self, application: web.Application, max_connections: int) -> None:
        application.on_response_prepare.append(self._close_if_leaving)
        self._leaving = False
        self._runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=CLOSING)
        self._connections = _Connections(max_connections)
        self._listening: asyncio.Server | None = None

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        """Listen for connections.

        Args:
            host: Address.
            port: Port; 0 for a free one.
            tls: Context of encrypted connections; None for no encryption.

        Returns:
            The port.

        Raises:
            OSError: If the address cannot be used.
        """
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        options: dict[str, Any] = {
            "access_log": None,
            "keepalive_timeout": IDLE,
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
                f"cannot listen at {in_address(host)}:{port}: the port is in use, or the address is not one "
                "of this machine; choose another --http-port, or none"
            ) from error
        return int(self._listening.sockets[0].getsockname()[1])

    def leave(self) -> None:
        """Close each connection after its next answer, which has `Connection: close`."""
        self._leaving = True

    async def refuse(self, patience: float) -> None:
        """Accept the connections that wait in the kernel, so that they are answered, and no more.

        Args:
            patience: Largest number of seconds for that, because new ones may arrive all the time.
        """
        if self._listening is None:
            return
        waiting = select.poll()
        for socket in self._listening.sockets:
            waiting.register(socket, select.POLLIN)
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while waiting.poll(0):
                    await asyncio.sleep(0)  # asyncio accepts them
        for socket in self._listening.sockets:
            asyncio.get_running_loop().remove_reader(socket)
        await asyncio.sleep(0)  # lets asyncio create the transports of accepted connections
        self._listening.close()

    async def stop(self) -> None:
        """Close all connections; answers in progress have CLOSING seconds."""
        await self.refuse(0)
        await self._runner.cleanup()

    async def _close_if_leaving(self, request: web.Request, response: web.StreamResponse) -> None:
        if self._leaving:
            response.force_close()
            response.headers["Connection"] = "close"


def _strict(handle: Handle) -> Handle:
    """Refuse what the parser accepts but HTTP/1.1 does not; the refusal does not quote the request."""

    async def checked(request: web.BaseRequest) -> web.StreamResponse:
        if request._version not in (HttpVersion10, HttpVersion11):
            request._version = HttpVersion11  # version of the answer
            return _refused(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "the HTTP version must be 1.1 or 1.0")
        if request.version == HttpVersion10 and "Transfer-Encoding" in request.headers:
            return _refused(HTTPStatus.BAD_REQUEST, "Transfer-Encoding needs HTTP/1.1")
        if request.headers.get("Expect", "100-continue").lower() != "100-continue":
            return _refused(HTTPStatus.EXPECTATION_FAILED, "Expect must be 100-continue")
        with cast(_Connection, request.protocol).answering():
            return await handle(request)

    return checked


def _refused(status: int, message: str) -> web.Response:
    response = failed(status, message, HEADERS)
    response.force_close()
    return response


class _Connections:
    """Open connections of a site up to a limit: a new one replaces the connection that was idle longest."""

    def __init__(self, max_connections: int) -> None:
        self._max = max_connections
        self._open: dict[_Connection, None] = {}  # in the order of their last use
        self._full = False

    def add(self, connection: "_Connection") -> bool:
        """Add a connection, and return whether there is room for it."""
        if len(self._open) >= self._max:
            self._warn()
            idle = next((other for other in self._open if not other.busy), None)
            if idle is None:
                return False
            self.remove(idle)
            idle.force_close()
        self._open[connection] = None
        return True

    def remove(self, connection: "_Connection") -> None:
        """Remove a connection that is closed, or will be."""
        self._open.pop(connection, None)
        if len(self._open) < self._max // 2:
            self._full = False

    def used(self, connection: "_Connection") -> None:
        """Move a connection to the end."""
        if connection in self._open:
            del self._open[connection]
            self._open[connection] = None

    def _warn(self) -> None:
        if not self._full:
            self._full = True
            _logger.warning(
                "all %d HTTP connections are in use; idle ones are closed for new ones. "
                "Raise the limit of open files (ulimit -n).",
                self._max,
            )


class _Connection(web.RequestHandler):
    """Connection that answers malformed HTTP with JSON, like all other errors, and does not log it."""

    __slots__ = ("_connections", "busy")

    def __init__(self, connections: _Connections, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # parse one request at a time: malformed bytes after a request must not affect its answer
        self._max_msg_queue_size, self._msg_queue_resume_size = 1, 0
        self._parser = HttpRequestParser(
            self, self._loop, WINDOW, max_line_size=self.max_line_size, max_field_size=self.max_field_size,
            max_headers=self.max_headers, payload_exception=web.RequestPayloadError, auto_decompress=False,
            max_msg_queue_size=1,
        )  # fmt: skip
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
        """Mark the connection as busy while a request is answered inside."""
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
        return _refused(status, "malformed HTTP request")
