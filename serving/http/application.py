"""The aiohttp application: middleware and routes."""

from collections.abc import Callable

from aiohttp import web
from aiohttp.typedefs import Middleware

from serving.api.gate import Gate
from serving.api.intake import Intake
from serving.api.service import TranslationService
from serving.http.hosts import Hosts
from serving.http.middleware import (
    Accepts,
    add_headers,
    check_host,
    check_origin,
    check_token,
    report_errors,
)
from serving.http.routes import Routes
from serving.http.static_page import page_files, page_routes
from serving.limits import Limits
from serving.observability.metrics import Metrics


def application(
    service: TranslationService,
    gate: Gate,
    metrics: Metrics,
    limits: Limits,
    intake: Intake,
    healthy: Callable[[], bool],
    hosts: Hosts,
    accepts: Accepts | None = None,
) -> web.Application:
    """Return the application.

    Args:
        service: What answers.
        gate: What every call passes before.
        metrics: What /metrics returns.
        limits: Limits of a request.
        intake: Bounds the bodies that arrive at the same time.
        healthy: Whether the server is healthy.
        hosts: Accepted Host headers.
        accepts: Whether Authorization headers are valid; None needs no token.
    """
    files = page_files()
    middlewares: list[Middleware] = [report_errors, check_host(hosts), check_origin]
    if accepts is not None:
        middlewares.append(check_token(accepts, files))
    made = web.Application(middlewares=middlewares, client_max_size=limits.message_bytes)
    made.on_response_prepare.append(add_headers)
    made.add_routes(Routes(service, gate, metrics, limits, intake, healthy).table())
    made.add_routes(page_routes(files))
    return made
