"""A server's life in a process: it listens, gets warm, serves, and drains when a signal says so."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from serving.daemon import in_daemon
from serving.limits import Limits
from serving.model import EngineSettings
from serving.models import Models, listed
from serving.opening import open_models, places
from serving.security import Security
from serving.server import Server
from serving.tls import in_address
from serving.traces import traces
from serving.versions import Versions

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Listening:
    """Where, to whom, and how long it takes to go."""

    host: str = "127.0.0.1"
    port: int = 50051
    grace: float = 30.0  # seconds
    http_port: int | None = 8080  # None: no HTTP
    security: Security = Security()  # noqa: RUF009
    notice: float = 0.0  # seconds
    allowed_hosts: frozenset[str] = frozenset()  # names that HTTP requests may call it by

    def page(self, port: int) -> str:
        """What to open in a browser."""
        scheme = "http" if self.security.certificates is None else "https"
        return f"{scheme}://{self.address(port)}/"

    def address(self, port: int) -> str:
        """Where a client connects to."""
        return f"{in_address(self.host)}:{port}"


async def serve(
    root: Path,
    settings: EngineSettings,
    limits: Limits,
    listening: Listening,
    tell: Tell,
    note: Tell,
    watch: float = 2.0,
) -> bool:
    """Until SIGTERM or SIGINT; a second one ends it at once. -> whether all that was taken was finished.

    What is told is for a machine: the addresses, once requests are taken there. What is noted is for people.
    Every `watch` seconds the root is looked at again; 0 is never.
    """
    found = places(root)
    tracing = traces()
    server = Server(limits, listening.security, tracing)
    for line in listening.security.warnings(listening.host):
        note(f"warning: {line}")
    port = await server.start(listening.host, listening.port)
    http_port = listening.http_port
    if http_port is not None:
        http_port = await server.start_http(listening.host, http_port, listening.allowed_hosts)
    going = _signals()
    opening = asyncio.create_task(in_daemon(open_models, found, settings))
    waiting = asyncio.create_task(going.wait())
    try:
        await asyncio.wait([opening, waiting], return_when=asyncio.FIRST_COMPLETED)
        if opening.done():
            models = opening.result()
            versions = Versions(root, settings, models, found)
            await versions.pin()
            await server.open(models)
            for line in _described(models):
                note(line)
            tell(f"serving on {listening.address(port)}")
            if http_port is not None:
                tell(f"http on {listening.address(http_port)}")
                note(f"the page is at {listening.page(http_port)}")
            with versions.watched(watch):
                await waiting
            note("draining ...")
            await server.notice(listening.notice)
    finally:
        waiting.cancel()
        opening.cancel()
        done = await server.drain(listening.grace)
        if tracing is not None:
            await asyncio.to_thread(tracing.close)
    return done


def _signals() -> asyncio.Event:
    """Set by the first one, after which they mean what they always do."""
    loop, going = asyncio.get_running_loop(), asyncio.Event()
    numbers = (signal.SIGTERM, signal.SIGINT)

    def go() -> None:
        for number in numbers:
            with suppress(ValueError):
                loop.remove_signal_handler(number)
        going.set()

    for number in numbers:
        loop.add_signal_handler(number, go)
    return going


def _described(models: Models) -> list[str]:
    """A line for each version."""
    lines = []
    for name, versions in listed(models):
        for number, each in versions:
            if isinstance(each, str):
                lines.append(f"  {name} {number}: refused")
                continue
            tokenizer = each.tokenizer
            languages = (
                f"{tokenizer.source_lang} to {tokenizer.target_lang}, " if tokenizer.source_lang else ""
            )
            lines.append(f"  {name} {number}: {languages}{each.precision}")
    return lines
