"""The life of a server process: listen, open the models, serve, and drain after a signal."""

import asyncio
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keras_transformer.memory import spent
from serving.addresses import in_address
from serving.daemon import in_daemon
from serving.limits import Limits
from serving.observability.traces import traces
from serving.registry.discovery import find_versions, open_models
from serving.registry.registry import Registry, listed
from serving.registry.reloader import Reloader
from serving.registry.served_version import EngineSettings
from serving.security.listening import Security
from serving.server import Server

Report = Callable[[str], None]


@dataclass(frozen=True)
class Listening:
    """Addresses, access and shutdown of a server.

    Attributes:
        host: Address to listen at.
        port: Port of gRPC; 0 for a free one.
        grace: Seconds in which a drain finishes requests.
        http_port: Port of HTTP; 0 for a free one, None for no HTTP.
        security: Encryption and tokens.
        notice: Seconds before a drain in which health is NOT_SERVING and requests are still accepted.
        allowed_hosts: Additional names that the Host of an HTTP request may have.
    """

    host: str = "127.0.0.1"
    port: int = 50051
    grace: float = 30.0
    http_port: int | None = 8080
    security: Security = Security()  # noqa: RUF009
    notice: float = 0.0
    allowed_hosts: frozenset[str] = frozenset()

    def page(self, port: int) -> str:
        """Return the URL of the page."""
        scheme = "http" if self.security.certificates is None else "https"
        return f"{scheme}://{self.address(port)}/"

    def address(self, port: int) -> str:
        """Return the address to which a client connects."""
        return f"{in_address(self.host)}:{port}"


async def serve(
    root: Path,
    settings: EngineSettings,
    limits: Limits,
    listening: Listening,
    announce: Report,
    note: Report,
    watch: float = 2.0,
) -> bool:
    """Serve until SIGTERM or SIGINT; a second signal ends the server at once.

    Args:
        root: Root of NAME/VERSION directories, or one version directory.
        settings: Settings of the engines.
        limits: Limits of a request.
        listening: Addresses, access and shutdown.
        announce: Called with each address when requests are accepted there, for machines.
        note: Called with lines for people.
        watch: Seconds between two scans of the root; 0 is never.

    Returns:
        Whether all accepted requests were finished.

    Raises:
        ModelError: If there is nothing to serve.
        OSError: If an address cannot be used, or there are too few file descriptors.
    """
    versions = find_versions(root)
    tracing = traces()
    server = Server(limits, listening.security, tracing)
    for line in listening.security.warnings(listening.host):
        note(f"warning: {line}")
    port = await server.start(listening.host, listening.port)
    http_port = listening.http_port
    tasks: list[asyncio.Task[Any]] = []
    try:
        if http_port is not None:
            http_port = await server.start_http(listening.host, http_port, listening.allowed_hosts)
        stop, began = _stop_signal(), time.monotonic()
        opening = asyncio.create_task(in_daemon(open_models, versions, settings))
        waiting = asyncio.create_task(stop.wait())
        tasks = [waiting, opening]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if opening.done():
            models = opening.result()
            reloader = Reloader(root, settings, models, versions)
            await reloader.pin()
            await server.open(models)
            for line in _described(models):
                note(line)
            note(f"opened in {spent(began)}")
            announce(f"serving on {listening.address(port)}")
            if http_port is not None:
                announce(f"http on {listening.address(http_port)}")
                note(f"the page is at {listening.page(http_port)}")
            with reloader.watched(watch):
                await waiting
            note("draining ...")
            await server.notice(listening.notice)
    finally:
        for task in tasks:
            task.cancel()
        done = await server.drain(listening.grace)
        if tracing is not None:
            await asyncio.to_thread(tracing.close)
    return done


def _stop_signal() -> asyncio.Event:
    """Return an event that the first SIGTERM or SIGINT sets; a second one has its default effect."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    numbers = (signal.SIGTERM, signal.SIGINT)

    def handle() -> None:
        for number in numbers:
            with suppress(ValueError):
                loop.remove_signal_handler(number)
        stop.set()

    for number in numbers:
        loop.add_signal_handler(number, handle)
    return stop


def _described(models: Registry) -> list[str]:
    """Return a line for each version."""
    lines = []
    for name, versions in listed(models):
        for number, model in versions:
            if isinstance(model, str):
                lines.append(f"  {name} {number}: refused")
                continue
            tokenizer = model.tokenizer
            languages = (
                f"{tokenizer.source_lang} to {tokenizer.target_lang}, " if tokenizer.source_lang else ""
            )
            lines.append(f"  {name} {number}: {languages}{model.precision}")
    return lines
