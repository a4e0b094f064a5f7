"""The HTTP side as aiohttp has it: who is let in, and where to."""

from collections.abc import Callable

from aiohttp import web
from aiohttp.typedefs import Middleware

from serving.api.gate import Gate
from serving.api.intake import Intake
from serving.api.service import TranslationService
from serving.http.hosts import Hosts
from serving.http.middleware import Accepts, dress, only_called, only_own_pages, only_with_token, tell
from serving.http.routes import Routes
from serving.http.static_page import page, table
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
    """`accepts`: whether Authorization headers are good; None asks nobody for one."""
    files = page()
    guards: list[Middleware] = [tell, only_called(hosts), only_own_pages]
    if accepts is not None:
        guards.append(only_with_token(accepts, files))
    made = web.Application(middlewares=guards, client_max_size=limits.message_bytes)
    made.on_response_prepare.append(dress)
    made.add_routes(Routes(service, gate, metrics, limits, intake, healthy).table())
    made.add_routes(table(files))
    return made
