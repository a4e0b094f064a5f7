"""Callers who ask by gRPC and by HTTP, never a second time, and count what was not answered."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import aiohttp
import grpc
import numpy as np

from serving.v1 import translation_pb2 as wire
from serving.v1.translation_pb2_grpc import TranslationServiceStub

CALLERS = 8
ONCE = [("grpc.enable_retries", 0)]


@dataclass
class Load:
    """Texts and what a replica alone says to them."""

    expected: Mapping[str, str]
    seconds: list[float] = field(default_factory=list)  # of each request
    failed: Counter[str] = field(default_factory=Counter)

    async def run(self, grpc_address: str, http_address: str, enough: Callable[[], bool]) -> None:
        async with (
            grpc.aio.insecure_channel(grpc_address, options=ONCE) as channel,
            aiohttp.ClientSession(f"http://{http_address}", timeout=aiohttp.ClientTimeout(60)) as session,
            asyncio.TaskGroup() as group,
        ):
            service = TranslationServiceStub(channel)
            for number in range(CALLERS):
                group.create_task(self._call(random.Random(number), service, session, enough))

    async def _call(
        self,
        chance: random.Random,
        service: TranslationServiceStub,
        session: aiohttp.ClientSession,
        enough: Callable[[], bool],
    ) -> None:
        while not enough():
            texts = chance.choices(list(self.expected), k=chance.choice((1, 1, 4)))
            begun = time.perf_counter()
            try:
                if chance.random() < 0.25:
                    said = await self._http(session, texts)
                else:
                    said = await self._grpc(service, texts)
            except grpc.aio.AioRpcError as error:
                self.failed[f"{error.code().name}: {error.details()}"] += 1
            except aiohttp.ClientError as error:
                self.failed[str(error)] += 1
            else:
                assert said == [self.expected[text] for text in texts]
            self.seconds.append(time.perf_counter() - begun)

    async def _grpc(self, service: TranslationServiceStub, texts: list[str]) -> list[str]:
        if len(texts) == 1:
            return [(await service.Translate(wire.TranslateRequest(text=texts[0]))).translation.text]
        segments = (await service.BatchTranslate(wire.BatchTranslateRequest(texts=texts))).segments
        return [each.translation.text for each in segments]

    async def _http(self, session: aiohttp.ClientSession, texts: list[str]) -> list[str]:
        async with session.post("/translate", json={"q": texts, "target": "en"}) as answer:
            answer.raise_for_status()
            return list((await answer.json())["translatedText"])

    def more(self, number: int) -> Callable[[], bool]:
        """Whether so many more are over than at this moment."""
        enough = len(self.seconds) + number
        return lambda: len(self.seconds) >= enough


def quantiles(seconds: list[float]) -> str:
    p50, p99 = np.percentile(seconds, (50, 99)) * 1000
    return f"p50 {p50:.1f} ms, p99 {p99:.1f} ms"


async def until(condition: Callable[[], bool]) -> None:
    """Within two minutes."""
    async with asyncio.timeout(120):
        while not await asyncio.to_thread(condition):
            await asyncio.sleep(0.02)
