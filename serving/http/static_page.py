"""The page at /, and its files."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from aiohttp import web

import keras_transformer

PAGE = Path(__file__).parents[1] / "web"
#: Files that the page shares with the pages that `keras-transformer` writes.
VIEWER = Path(keras_transformer.__file__).parent / "viz" / "viewer"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
INDEX = "index.html"


def page_files() -> Mapping[str, Path]:
    """Return each file of the page by its address, so that no requested address is ever used as a path."""
    files = [path for folder in (PAGE, VIEWER) for path in folder.iterdir() if path.suffix in TYPES]
    return {"/" if path.name == INDEX else f"/static/{path.name}": path for path in files}


def page_routes(files: Mapping[str, Path]) -> list[web.RouteDef]:
    """Return a route for each file."""
    return [web.get(address, partial(_send, path)) for address, path in files.items()]


async def _send(path: Path, request: web.Request) -> web.FileResponse:
    """Send a file; a browser that has it asks each time whether it has changed."""
    content_type = f"{TYPES[path.suffix]}; charset=utf-8"
    return web.FileResponse(path, headers={"Content-Type": content_type, "Cache-Control": "no-cache"})
