"""The HTTP side as aiohttp has it: who is let in, and where to."""

from collections.abc import Callable

from aiohttp import web
from aiohttp.typedefs import Middleware

from serving.api.dispatcher import Dispatcher
from serving.api.intake import Intake
from serving.api.service import TranslationService
from serving.http.hosts import Hosts
from serving.http.middleware import Accepts, dress, only_called, only_own_pages, only_with_token, tell
from serving.http.routes import Routes
from serving.http.static_page import page_files, page_routes
from serving.limits import Limits
from serving.observability.metrics import Metrics


def application(
    service: TranslationService,
    dispatcher: Dispatcher,
    metrics: Metrics,
    limits: Limits,
    intake: Intake,
    healthy: Callable[[], bool],
    hosts: Hosts,
    accepts: Accepts | None = None,
) -> web.Application:
    """`accepts`: whether Authorization headers are good; None asks nobody for one."""
    files = page_files()
    guards: list[Middleware] = [tell, only_called(hosts), only_own_pages]
    if accepts is not None:
        guards.append(only_with_token(accepts, files))
    made = web.Application(middlewares=guards, client_max_size=limits.message_bytes)
    made.on_response_prepare.append(dress)
    made.add_routes(Routes(service, dispatcher, metrics, limits, intake, healthy).table())
    made.add_routes(page_routes(files))
    return made
