"""A server whose models say what they hear, so that every answer can be told: for tests of the protocol."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from threading import Semaphore
from typing import Any

import grpc
import numpy as np

from keras_transformer.inference.backend import Encoded, StepResult
from keras_transformer.phrasebook import phrasebook
from keras_transformer.text.sentences import Lengths
from keras_transformer.text.tokenizer import Tokenizer
from serving.engine.attention_graph import AttentionGraph
from serving.engine.engine import Engine
from serving.limits import Limits
from serving.registry.registry import Registry
from serving.registry.served_version import ServedVersion
from serving.server import Server
from serving.v1.translation_pb2_grpc import TranslationServiceStub
from tests.support.fake_backend import FakeBackend

LENGTHS = Lengths(whole=0, longest=30)
UNSPEAKABLE = "☠"  # a text with it fails


@cache
def tokenizer() -> Tokenizer:
    """One vocabulary for both sides: what was read can be said."""
    return Tokenizer.train(phrasebook("fr-en", "train", 200), 400, source_lang="fr", target_lang="en")


class Echo(FakeBackend):
    """Says its source, the end included. `held`: it takes steps only as they are allowed."""

    def __init__(self, slots: int = 8, held: bool = False) -> None:
        super().__init__(slots)
        self._held = held
        self._allowed = Semaphore(0)
        self._broken = tokenizer().encode_source([UNSPEAKABLE])[0][:-1]

    def allow(self, steps: int) -> None:
        self._allowed.release(steps)

    def encode(self, sources: Sequence[Sequence[int]]) -> Encoded:
        for source in sources:
            if any(source[at : at + len(self._broken)] == self._broken for at in range(len(source))):
                raise RuntimeError("the secret of the runtime")
        self.encoded.append(list(sources))
        return sources

    def answer(self, source: Sequence[int]) -> list[int]:
        return list(source)

    def step(self) -> StepResult:
        if self._held and not self._allowed.acquire(timeout=20):
            raise TimeoutError
        self.steps += 1
        tokens = [self._next(row) for row in range(len(self.rows))]
        for (_, decoded), token in zip(self.rows, tokens, strict=True):
            decoded.append(token)
        return StepResult(np.array(tokens, np.int32), np.array(tokens, np.float32))


def echo(
    name: str = "echo", version: int = 1, runtime: FakeBackend | None = None, waiting: int = 1024
) -> ServedVersion:
    engine = Engine(runtime or Echo(), tokenizer().eos_id, waiting).start()
    return ServedVersion(
        name, version, tokenizer(), LENGTHS, 64, "float32", engine, AttentionGraph(Path("/dev/null"))
    )


@asynccontextmanager
async def listening(*models: ServedVersion, limits: Limits = Limits()) -> AsyncIterator[int]:  # noqa: B008
    """The port of a server; afterwards nothing of it is left."""
    server = Server(limits)
    port = await server.start("127.0.0.1", 0)
    await server.open(Registry(list(models) or [echo()]))
    try:
        yield port
    finally:
        await server.drain(0)


@asynccontextmanager
async def served(*models: ServedVersion, limits: Limits = Limits()) -> AsyncIterator[grpc.aio.Channel]:  # noqa: B008
    """A channel to a server on a port of its own."""
    async with (
        listening(*models, limits=limits) as port,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        yield channel


@asynccontextmanager
async def stub(*models: ServedVersion, limits: Limits = Limits()) -> AsyncIterator[Any]:  # noqa: B008
    async with served(*models, limits=limits) as channel:
        yield TranslationServiceStub(channel)


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """In an event loop of its own, and bounded."""

    async def bounded() -> None:
        async with asyncio.timeout(20):
            await scenario()

    asyncio.run(bounded())


async def until(condition: Any) -> None:
    """A condition that another thread brings about."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


def given_up(model: ServedVersion) -> bool:
    """Whether nobody waits for what the engine has."""
    return model.engine.waiting == 0 and all(
        member.request.cancelled for member in model.engine._batch.members
    )
