"""A server's versions while they change, and what is done to them, for tests."""

import asyncio
import logging
import os
import shutil
import threading
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from keras_transformer.inference.request import End
from serving.registry.discovery import find_versions, open_models
from serving.registry.registry import Registry
from serving.registry.reloader import Reloader
from serving.registry.served_version import EngineSettings, ServedVersion

SETTINGS = EngineSettings(slots=4)
TEXT = "Où est la gare ?"


def put(version: Path, directory: Path) -> None:
    """As an export does it: all of it at once."""
    scratch = directory.with_name(f".{directory.name}-scratch")
    shutil.copytree(version, scratch)
    scratch.rename(directory)


def damage(directory: Path) -> Path:
    file = directory / "onnx/decoder.onnx"
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    return file


@asynccontextmanager
async def live(root: Path) -> AsyncIterator[tuple[Reloader, Registry]]:
    found = find_versions(root)
    models = await asyncio.to_thread(open_models, found, SETTINGS)
    versions = Reloader(root, SETTINGS, models, found)
    try:
        with versions.watched(0):
            await versions.pin()
            yield versions, models
    finally:
        await asyncio.to_thread(models.stop, 10)


def serving(models: Registry) -> list[tuple[str, int]]:
    return sorted((each.name, each.version) for each in models.serving)


def default(models: Registry) -> int:
    return models.find("fr-en", 0).version


def said(model: ServedVersion, text: str = TEXT) -> list[list[int]]:
    """By its engine, as it is."""
    requests = model.requests([text])
    ended = threading.Semaphore(0)
    for request in requests:
        request.on_end = lambda _: ended.release()
    model.engine.submit(*requests)
    for _ in requests:
        assert ended.acquire(timeout=20)
    assert {request.end for request in requests} <= {End.STOP, End.LENGTH}
    return [request.tokens for request in requests]


def point(link: Path, to: Path | str) -> None:
    """As Kubernetes does it: the link is there all the time."""
    scratch = link.with_name(f".{link.name}-scratch")
    scratch.symlink_to(to)
    scratch.rename(link)


def priority(thread: threading.Thread) -> int:
    return os.getpriority(os.PRIO_PROCESS, thread.native_id or 0)


def refusals(records: Iterable[logging.LogRecord]) -> list[str]:
    return [text for record in records if "is refused" in (text := record.getMessage())]
