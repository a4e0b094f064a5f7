"""The server: gRPC with health and reflection, and HTTP; its start and its drain."""

import asyncio
import logging
from collections.abc import Collection
from typing import TYPE_CHECKING

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from serving.addresses import in_address
from serving.api.gate import Gate
from serving.api.intake import MAX_UNREAD, Intake
from serving.api.service import TranslationService
from serving.descriptors import log_exhaustion_once, max_connections
from serving.grpc.handlers import SERVICE, handlers
from serving.grpc.receiving import Receiving
from serving.limits import Limits
from serving.observability import access_log
from serving.observability.metrics import Metrics
from serving.observability.traces import Traces
from serving.registry.registry import Registry
from serving.security.listening import Security

if TYPE_CHECKING:
    from serving.http.listener import Site

_logger = logging.getLogger(__name__)

CLOSING = 1.0  # seconds for sending answers; then calls that watch the health are cut off
MAX_UNQUIET = 3.0  # seconds in which requests already sent are refused instead of cut off
GOAWAY = 0.05  # seconds in which callers receive the GOAWAY of a stopping server
PULSE = 0.25  # seconds between two checks of the engines
STREAMS = 4096  # calls of one connection; gRPC resets more calls, so this is above the intake's limit
WINDOW = 2**14  # bytes of a message that are buffered before it is read
PINGS = 5000  # milliseconds between the pings of an idle connection; one that sends more is closed

_SERVING = health_pb2.HealthCheckResponse.SERVING
_NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class Server:
    """Server, used from one event loop. Call `start`, `open`, `notice` and `drain` in this order.

    Args:
        limits: Limits of a request.
        security: Encryption and tokens.
        traces: Recorder of a span for each request; None for no traces.

    Raises:
        OSError: If the process has too few file descriptors.
    """

    def __init__(
        self,
        limits: Limits,
        security: Security = Security(),  # noqa: B008
        traces: Traces | None = None,
    ) -> None:
        self._security = security
        self._limits = limits
        self._service = TranslationService(limits)
        self._metrics = Metrics(lambda: self._service.models)
        observers = (self._metrics.count, access_log.log)
        # traces come first, because the log contains the trace id
        self._gate = Gate(observers if traces is None else (traces.record, *observers))
        self._healthy = False
        self._http: Site | None = None
        self._intake = Intake()
        self._health = health.aio.HealthServicer()
        self._max_connections = max_connections()
        self._server = grpc.aio.server(
            options=[
                ("grpc.so_reuseport", 0),  # makes a second server on this port an error
                ("grpc.max_receive_message_length", limits.message_bytes),
                ("grpc.max_allowed_incoming_connections", self._max_connections),
                ("grpc.max_concurrent_streams", STREAMS),
                ("grpc.server.max_pending_requests", MAX_UNREAD),
                ("grpc.http2.lookahead_bytes", WINDOW),
                ("grpc.http2.bdp_probe", 0),  # it would enlarge the window, to 4 MiB on a fast network
                ("grpc.http2.min_ping_interval_without_data_ms", PINGS),
                ("grpc.keepalive_permit_without_calls", 1),  # otherwise the limit without calls is two hours
            ],
            interceptors=[*security.interceptors(), Receiving(self._intake)],
        )
        self._server.add_generic_rpc_handlers((handlers(self._service, self._gate),))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection(
            [SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME], self._server
        )
        self._pulse: asyncio.Task[None] | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen for gRPC. Health is answered from now on; all other calls are refused until `open`.

        Args:
            host: Address.
            port: Port; 0 for a free one.

        Returns:
            The port.

        Raises:
            OSError: If the address cannot be used.
        """
        log_exhaustion_once(asyncio.get_running_loop())
        await self._set_health(_NOT_SERVING)
        address = f"{in_address(host)}:{port}"
        try:
            chosen = self._security.listen(self._server, address)
        except RuntimeError as error:
            raise OSError(
                f"cannot listen at {address}: the port is in use, or the address is not one of this machine; "
                "choose another --port"
            ) from error
        await self._server.start()
        return chosen

    async def start_http(self, host: str, port: int, allowed_hosts: Collection[str] = ()) -> int:
        """Listen for HTTP too, behind the same gate.

        Args:
            host: Address.
            port: Port; 0 for a free one.
            allowed_hosts: Names that a Host header may have, besides those of loopback.

        Returns:
            The port.

        Raises:
            OSError: If the address cannot be used.
        """
        from serving.http.application import application  # noqa: PLC0415 (the library, when it is needed)
        from serving.http.hosts import Hosts  # noqa: PLC0415
        from serving.http.listener import Site  # noqa: PLC0415
        from serving.http.routes import ServerParts  # noqa: PLC0415

        security = self._security
        accepts = None if security.tokens is None else security.tokens.accepts
        tls = None if security.certificates is None else security.certificates.ssl_context()
        parts = ServerParts(
            self._service, self._gate, self._metrics, self._limits, self._intake, lambda: self._healthy
        )
        made = application(parts, Hosts(host, allowed_hosts), accepts)
        self._http = Site(made, self._max_connections)
        return await self._http.start(host, port, tls)

    async def open(self, models: Registry) -> None:
        """Accept requests from now on.

        Args:
            models: Versions that serve; the server stops them.
        """
        self._service.models = models
        self._gate.open()
        await self._set_health(_SERVING)
        self._pulse = asyncio.create_task(self._watch(models))

    async def notice(self, seconds: float) -> None:
        """Set health to NOT_SERVING, and accept requests until balancers send them elsewhere."""
        self._healthy = False
        await self._health.enter_graceful_shutdown()
        await asyncio.sleep(seconds)

    async def drain(self, grace: float) -> bool:
        """Accept no more requests, finish those inside, and stop.

        Args:
            grace: Seconds in which requests are finished.

        Returns:
            Whether all were finished.
        """
        await self.notice(0)
        self._gate.shut()
        if self._http is not None:
            self._http.leave()
        done = await self._gate.emptied(grace)
        patience = MAX_UNQUIET if done else 0
        if self._http is not None:
            await self._http.refuse(patience)
        self._gate.hold()  # gRPC cuts off calls that arrive while it stops
        await self._gate.quiet(patience, lambda: self._intake.idle)
        stopping = asyncio.create_task(self._server.stop(CLOSING if done else 0))
        await asyncio.sleep(GOAWAY)
        self._gate.release()
        await stopping
        if self._http is not None:
            await self._http.stop()
        if self._pulse is not None:
            self._pulse.cancel()
        await asyncio.to_thread(self._service.models.stop, CLOSING)
        return done

    async def _watch(self, models: Registry) -> None:
        healthy = True
        while True:
            if models.healthy is not healthy:
                healthy = not healthy
                _logger.log(
                    logging.INFO if healthy else logging.ERROR,
                    "healthy again"
                    if healthy
                    else "not healthy: an engine has failed, or no version is left",
                )
                await self._set_health(_SERVING if healthy else _NOT_SERVING)
            await asyncio.sleep(PULSE)

    async def _set_health(self, state: health_pb2.HealthCheckResponse.ServingStatus) -> None:
        self._healthy = state == _SERVING
        for service in ("", SERVICE):
            await self._health.set(service, state)
