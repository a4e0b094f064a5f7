"""The page as somebody uses it, and a server for it whose model speaks only as it is allowed."""

import asyncio
import json
import threading
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

from serving.limits import Limits
from serving.registry.registry import Registry
from serving.server import Server
from tests.support.serving.echo import Echo, echo

if TYPE_CHECKING:
    from playwright.sync_api import Page


def opened(page: "Page", address: str) -> "Page":
    """Open the page and wait until it knows the models and limits of the server."""
    page.goto(f"http://{address}/")
    ready(page)
    return page


def ready(page: "Page") -> None:
    expect(page.locator("#count")).not_to_be_empty()


def translated(page: "Page", text: str) -> str:
    """Write a text in place of what is there; -> its whole translation."""
    page.locator("#text").fill(text)
    return whole(page)


def whole(page: "Page") -> str:
    """Wait for the whole translation of the text that is written."""
    translation = page.locator("#translation:has(.word):not(.stale, .growing)")
    expect(translation).to_be_visible()
    return translation.inner_text()


def explored(page: "Page") -> None:
    """Open the attention viewer."""
    page.locator("#heads summary").click()
    expect(page.locator("#map tbody td").first).to_be_visible()


def options(page: "Page", word: int) -> list[str]:
    """Choose the word of this index; -> the words that can stand there."""
    page.locator(".word").nth(word).click()
    listed = page.locator("#options-list li")
    expect(listed.first).to_be_visible()
    return listed.locator("b").all_inner_texts()


def alternatives(page: "Page") -> list[str]:
    """Open the panel of other translations; -> these, the best first."""
    page.locator("#alternatives summary").click()
    listed = page.locator("#alternatives-list button")
    expect(listed.first).to_be_visible()
    return listed.locator("span:first-child").all_inner_texts()


def asked(address: str, place: str, **fields: Any) -> Any:
    """What the server itself says."""
    body = json.dumps(fields).encode() if fields else None
    headers = {"Content-Type": "application/json"} if body else {}
    request = urllib.request.Request(f"http://{address}/{place}", body, headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


@dataclass
class Held:
    """A server in a thread of its own."""

    address: str
    runtime: Echo
    cut: Callable[[], None]  # every connection of HTTP, as it stands


@contextmanager
def held(waiting: int = 8, limits: Limits = Limits()) -> Iterator[Held]:  # noqa: B008
    """It says what it hears, one sentence at a time, a token for each step that is allowed."""
    runtime, started = Echo(slots=1, held=True), Future[tuple[str, Callable[[], None]]]()
    loop, going = asyncio.new_event_loop(), asyncio.Event()

    async def serve() -> None:
        server = Server(limits)
        await server.start("127.0.0.1", 0)
        port = await server.start_http("127.0.0.1", 0)
        await server.open(Registry([echo("fr-en", 3, runtime, waiting)]))

        def cut() -> None:
            for connection in server._http._runner.server.connections:
                connection.transport.abort()

        started.set_result((f"127.0.0.1:{port}", lambda: loop.call_soon_threadsafe(cut)))
        await going.wait()
        runtime.allow(1000)
        await server.drain(5)

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        address, cut = started.result(20)
        yield Held(address, runtime, cut)
    finally:
        loop.call_soon_threadsafe(going.set)
        thread.join(30)
        loop.close()
