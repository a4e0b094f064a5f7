"""The aiohttp application: middleware and routes."""

from aiohttp import web
from aiohttp.typedefs import Middleware

from serving.http.hosts import Hosts
from serving.http.middleware import Accepts, add_headers, check_host, check_origin, check_token, report_errors
from serving.http.routes import Routes, ServerParts
from serving.http.static_page import page_files, page_routes


def application(parts: ServerParts, hosts: Hosts, accepts: Accepts | None = None) -> web.Application:
    """Create the application.

    Args:
        parts: Parts of the server that the routes use.
        hosts: Accepted Host headers.
        accepts: Returns whether Authorization headers are valid; None for no token.
    """
    files = page_files()
    middlewares: list[Middleware] = [report_errors, check_host(hosts), check_origin]
    if accepts is not None:
        middlewares.append(check_token(accepts, files))
    made = web.Application(middlewares=middlewares, client_max_size=parts.limits.message_bytes)
    made.on_response_prepare.append(add_headers)
    made.add_routes(Routes(parts).table())
    made.add_routes(page_routes(files))
    return made
