"""The HTTP side as aiohttp has it: who is let in, and where to."""

from collections.abc import Callable

from aiohttp import web
from aiohttp.typedefs import Middleware

from serving.front import Front
from serving.http.guard import Accepts, dress, only_called, only_own_pages, only_with_token, tell
from serving.http.hosts import Hosts
from serving.http.page import page, table
from serving.http.routes import Routes
from serving.intake import Intake
from serving.limits import Limits
from serving.metrics import Metrics
from serving.service import TranslationService


def application(
    service: TranslationService,
    front: Front,
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
    made.add_routes(Routes(service, front, metrics, limits, intake, healthy).table())
    made.add_routes(table(files))
    return made
