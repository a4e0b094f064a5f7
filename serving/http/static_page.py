"""The page at /, and what it is made of: read once, so that no address ever becomes a path."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import PurePath

from aiohttp import web

FOLDER = files("serving") / "web"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
START = "index.html"


@dataclass(frozen=True)
class File:
    """One, as it is sent."""

    content: bytes
    kind: str

    @property
    def tag(self) -> str:
        """What changes with the content."""
        return hashlib.sha256(self.content).hexdigest()[:16]

    async def sent(self, request: web.Request) -> web.Response:
        """Whole, unless the browser has it already; it asks each time."""
        known = any(each.value in (self.tag, "*") for each in request.if_none_match or ())
        response = web.Response(status=304) if known else web.Response(body=self.content)
        if not known:
            response.content_type, response.charset = self.kind, "utf-8"
        response.etag = self.tag
        response.headers["Cache-Control"] = "no-cache"
        return response


def page() -> Mapping[str, File]:
    """By their addresses."""
    return dict(_found())


def table(page: Mapping[str, File]) -> list[web.RouteDef]:
    """Each at its own address, and nothing beside them."""
    return [web.get(address, file.sent) for address, file in page.items()]


def _found() -> Iterator[tuple[str, File]]:
    for each in FOLDER.iterdir():
        kind = KINDS.get(PurePath(each.name).suffix)
        if kind is not None:
            yield "/" if each.name == START else f"/static/{each.name}", File(each.read_bytes(), kind)
