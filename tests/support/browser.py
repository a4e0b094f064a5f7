"""What a test reads of a page in the browser beside Playwright's own assertions."""

from typing import TYPE_CHECKING

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
