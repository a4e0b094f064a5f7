"""What every answer has, and who is turned away at once: foreign pages, and those without a token."""

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

Accepts = Callable[..., bool]  # whether these values of Authorization headers are good
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
WITHOUT_TOKEN = frozenset({"/healthz"})
PLACES = "GET /, /languages, /models, /healthz, /metrics; POST /translate, /translate/stream, /attention"

_SAID = {
    404: f"there is nothing at this address; there is {PLACES}",
    405: f"this address does not take that method; there is {PLACES}",
}


def failed(status: int, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """As all errors are told."""
    text = json.dumps({"error": message}, ensure_ascii=False)
    return web.Response(status=status, text=text, content_type="application/json", headers=headers)


def refused(told: Refusal) -> web.Response:
    """As gRPC tells it, by the status of HTTP."""
    status, headers = STATUS[told.code], {}
    if status in (429, 503):
        headers["Retry-After"] = str(math.ceil(told.retry_after or 1))
    return failed(status, told.message, headers)


async def dress(request: web.BaseRequest, response: web.StreamResponse) -> None:
    """With HEADERS, before it leaves."""
    response.headers.update(HEADERS)


@web.middleware
async def tell(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every error is JSON; only what nobody expects is 500, and nothing is told of it but in the log."""
    try:
        return await handler(request)
    except RefusedError as error:
        return refused(error.refusal)
    except web.HTTPException as error:
        allowed = error.headers.get("Allow")
        return failed(
            error.status,
            _SAID.get(error.status) or error.text or error.reason,
            {"Allow": allowed} if allowed else None,
        )
    except Exception:
        _logger.exception("a request failed")
        return failed(HTTPStatus.INTERNAL_SERVER_ERROR, "the server failed at this request")


@web.middleware
async def only_own_pages(request: web.Request, handler: Handler) -> web.StreamResponse:
    """A browser says whose page it is that posts."""
    origin = request.headers.get("Origin")
    if request.method == "POST" and origin is not None and _place(origin) != request.host.lower():
        return failed(HTTPStatus.FORBIDDEN, "pages of other origins may not post here")
    return await handler(request)


def _place(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:  # it is no address: nobody's page
        return None


def only_called(hosts: Hosts) -> Middleware:
    """Refuse requests that call the server by a name that is not its own, but for the health."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path in WITHOUT_TOKEN or hosts.accepts(request.headers.get("Host")):
            return await handler(request)
        message = "this server has another name: use its address, or start it with --allowed-hosts NAME"
        return failed(HTTPStatus.MISDIRECTED_REQUEST, message)

    return check


def only_with_token(accepts: Accepts, page: Collection[str]) -> Middleware:
    """Whoever asks for more than the health, and the addresses of the page, which asks for a token itself."""
    open_to_all = WITHOUT_TOKEN.union(page)

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path not in open_to_all and not accepts(*request.headers.getall("Authorization", ())):
            said = "an access token is needed: send the header `Authorization: Bearer TOKEN`"
            return failed(HTTPStatus.UNAUTHORIZED, said, {"WWW-Authenticate": "Bearer"})
        return await handler(request)

    return check
