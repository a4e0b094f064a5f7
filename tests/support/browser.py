"""What a test reads of a page in the browser beside Playwright's own assertions."""

from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.needed import missing
from tests.support.paths import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Page

#: Programs that Playwright drives as Chromium.
NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
SECONDS = 60  # for one step of a page on a busy machine; only a failure waits so long

#: The sizes of window and the colour schemes in which every page is looked at.
WIDTHS, SCHEMES = (390, 1280), ("light", "dark")
_AXE = ROOT / "examples" / "node_modules" / "axe-core" / "axe.min.js"


def requested(page: "Page") -> list[str]:
    """Return the addresses of the last 100 requests of a page, once it has drawn what it has begun."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    return [request.url for request in page.requests()]


def errors(page: "Page") -> list[str]:
    """Return uncaught exceptions, and the errors and warnings on the console, since the page was opened."""
    written = page.console_messages(filter="since-navigation")
    return [
        *(str(error) for error in page.page_errors(filter="since-navigation")),
        *(message.text for message in written if message.type in ("error", "warning", "assert")),
    ]


def violations(page: "Page", name: str, screenshots: Path | None = None) -> list[str]:
    """Return what axe-core finds on a page as it stands, at each width and in each colour scheme.

    Args:
        page: The page; it keeps the last width and scheme.
        name: The state that the page is in, for the names of the pictures.
        screenshots: The folder for a picture of the whole page at each width and in each scheme, if any.
    """
    if not _AXE.exists():
        missing("axe-core", "run npm ci --ignore-scripts in examples")
    page.evaluate(_AXE.read_text("utf-8"))
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            if screenshots is not None:
                page.screenshot(path=screenshots / f"{name}-{width}-{scheme}.png", full_page=True)
            results = page.evaluate("axe.run({resultTypes: ['violations']})")
            for violation in results["violations"]:
                nodes = violation["nodes"]
                found.append(
                    f"{name} {width} {scheme}: {violation['id']} in {len(nodes)} elements, first in "
                    f"{nodes[0]['html'][:99]}: {nodes[0]['failureSummary']}"
                )
    return found
