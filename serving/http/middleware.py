"""Headers and errors of all answers, and the checks before each request: host, origin, token."""

import json
import logging
import math
from collections.abc import Awaitable, Callable, Collection, Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Middleware
from google.rpc.code_pb2 import Code

from serving.errors import Refusal, RefusedError
from serving.http.hosts import Hosts

_logger = logging.getLogger(__name__)

Accepts = Callable[..., bool]  # takes the values of all Authorization headers
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Server": "keras-transformer",  # without versions
}
STATUS: Mapping[int, int] = {
    Code.INVALID_ARGUMENT: 400,
    Code.UNAUTHENTICATED: 401,
    Code.NOT_FOUND: 404,
    Code.RESOURCE_EXHAUSTED: 429,
    Code.CANCELLED: 499,
    Code.INTERNAL: 500,
    Code.UNAVAILABLE: 503,
    Code.DEADLINE_EXCEEDED: 504,
}
OPEN_PATHS = frozenset({"/healthz"})
ROUTES = (
    "GET /, /languages, /models, /healthz, /metrics, /openapi.json; "
    "POST /translate, /translate/stream, /attention"
)

_MESSAGES = {
    404: f"no such path; the paths are {ROUTES}",
    405: f"method not allowed for this path; allowed are {ROUTES}",
}


def failed(status: int, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """Return an error as JSON."""
    text = json.dumps({"error": message}, ensure_ascii=False)
    return web.Response(status=status, text=text, content_type="application/json", headers=headers)


def refused(refusal: Refusal) -> web.Response:
    """Return a refusal with the HTTP status of its code."""
    status, headers = STATUS[refusal.code], {}
    if status in (429, 503):
        headers["Retry-After"] = str(math.ceil(refusal.retry_after or 1))
    return failed(status, refusal.message, headers)


async def add_headers(request: web.BaseRequest, response: web.StreamResponse) -> None:
    """Add HEADERS to an answer."""
    response.headers.update(HEADERS)


@web.middleware
async def report_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer every error as JSON. An unexpected one is 500; its details are only in the log."""
    try:
        return await handler(request)
    except RefusedError as error:
        return refused(error.refusal)
    except web.HTTPException as error:
        allowed = error.headers.get("Allow")
        return failed(
            error.status,
            _MESSAGES.get(error.status) or error.text or error.reason,
            {"Allow": allowed} if allowed else None,
        )
    except Exception:
        _logger.exception("unexpected error in a request")
        return failed(
            HTTPStatus.INTERNAL_SERVER_ERROR, "internal error; the log of the server has the details"
        )


@web.middleware
async def check_origin(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse a POST from a page of another origin."""
    origin = request.headers.get("Origin")
    if request.method == "POST" and origin is not None and _host(origin) != request.host.lower():
        return failed(HTTPStatus.FORBIDDEN, "the Origin of a POST must be this server")
    return await handler(request)


def _host(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:  # not a URL
        return None


def check_host(hosts: Hosts) -> Middleware:
    """Return a middleware that refuses requests for another Host, except those of the health."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path in OPEN_PATHS or hosts.accepts(request.headers.get("Host")):
            return await handler(request)
        message = "unknown Host. Use the server's address, or start it with --allowed-hosts NAME."
        return failed(HTTPStatus.MISDIRECTED_REQUEST, message)

    return check


def check_token(accepts: Accepts, page: Collection[str]) -> Middleware:
    """Return a middleware that refuses requests without a valid token.

    Args:
        accepts: Returns whether the Authorization headers of a request are valid.
        page: Paths of the page, which need no token: the page sends the token with its own requests.
    """
    open_to_all = OPEN_PATHS.union(page)

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path not in open_to_all and not accepts(*request.headers.getall("Authorization", ())):
            message = "missing or unknown bearer token. Send the header `Authorization: Bearer TOKEN`."
            return failed(HTTPStatus.UNAUTHORIZED, message, {"WWW-Authenticate": "Bearer"})
        return await handler(request)

    return check
