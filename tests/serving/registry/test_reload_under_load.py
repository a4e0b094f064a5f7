"""A server process whose versions change while it is asked: nothing is lost, no answer is of two."""

import asyncio
import random
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from export.artifact.manifest import open_version
from export.formats.runtimes.onnx_scheduler_runtime import SchedulerOnnx
from serving.v1 import translation_pb2 as wire
from serving.v1.translation_pb2_grpc import TranslationServiceStub
from tests.support.serving.live_versions import put
from tests.support.serving.serve_process import serving

CALLERS = 4
BEAMS = (1, 1, 4)
Answers = dict[tuple[str, int], str]  # by text and beam


def answers(directory: Path) -> Answers:
    """Of a version to its golden sentences, each alone."""
    version = open_version(directory)
    tokenizer, longest = version.tokenizer, version.manifest.limits.source_tokens
    alone = SchedulerOnnx(directory / "onnx", "float32", tokenizer.bos_id, tokenizer.eos_id, longest)
    asked = [(each, beam) for each in version.golden for beam in set(BEAMS)]
    found = [alone.search([each.source_ids], beam, loop_guard=True)[0][0].ids for each, beam in asked]
    texts = tokenizer.decode_target(found)
    return {(each.source, beam): text for (each, beam), text in zip(asked, texts, strict=True)}


@dataclass
class Load:
    """Callers who ask for texts, batches and streams, one after the other, and never a second time."""

    service: Any
    texts: Sequence[str]
    expected: Sequence[Answers]  # of an even version, of an odd one
    seconds: list[float] = field(default_factory=list)  # of each request
    versions: set[int] = field(default_factory=set)
    opening: list[float] = field(default_factory=list)  # of those that were answered while one was opened
    opens: bool = False

    async def run(self, enough: Callable[[], bool]) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(CALLERS):
                group.create_task(self._call(random.Random(number), enough))

    async def _call(self, chance: random.Random, enough: Callable[[], bool]) -> None:
        while not enough():
            texts = chance.choices(self.texts, k=chance.choice((1, 1, 4)))
            beam = chance.choice(BEAMS)
            options = wire.Options(alignment=chance.random() < 0.05, beam=beam)
            begun = time.perf_counter()
            found = await (self._batch(texts, options) if len(texts) > 1 else self._one(texts[0], options))
            self.seconds.append(time.perf_counter() - begun)
            if self.opens:
                self.opening.append(self.seconds[-1])
            (version,) = {each.version for each in found}
            assert [each.text for each in found] == [self.expected[version % 2][text, beam] for text in texts]
            self.versions.add(version)

    async def _batch(self, texts: list[str], options: wire.Options) -> list[wire.Translation]:
        asked = wire.BatchTranslateRequest(texts=texts, options=options)
        segments = (await self.service.BatchTranslate(asked)).segments
        assert not [each.error for each in segments if each.HasField("error")]
        return [each.translation for each in segments]

    async def _one(self, text: str, options: wire.Options) -> list[wire.Translation]:
        if options.alignment:
            return [
                (await self.service.Translate(wire.TranslateRequest(text=text, options=options))).translation
            ]
        asked = wire.StreamTranslateRequest(text=text, options=options)
        said = [each async for each in self.service.StreamTranslate(asked)]
        assert "".join(each.text for each in said) == said[-1].translation.text
        return [said[-1].translation]


def p99(seconds: Sequence[float]) -> str:
    return f"{np.percentile(seconds, 99) * 1000:.1f} ms"


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


async def change(name: Path, weights: Sequence[Path], places: Sequence[int], load: Load) -> None:
    """After so many requests each a higher version comes and the lower goes; each third is taken back."""

    async def default(version: int) -> None:
        async with asyncio.timeout(60):
            listed: list[wire.Model] = []
            while not listed or listed[0].default_version != version:
                await asyncio.sleep(0.05)
                listed = (await load.service.ListModels(wire.ListModelsRequest())).models

    serves = 1
    for number, place in enumerate(places, 2):
        await until(lambda place=place: len(load.seconds) >= place)
        await asyncio.to_thread(put, weights[number % 2], name / str(number))
        load.opens = True
        await default(number)
        load.opens = False
        await until(lambda number=number: number in load.versions)
        removed, serves = (number, serves) if number % 3 == 0 else (serves, number)
        await asyncio.to_thread(shutil.rmtree, name / str(removed))
        await default(serves)


@pytest.mark.parametrize(
    ("changes", "requests"),
    [
        (3, 200),
        pytest.param(20, 10_000, marks=[pytest.mark.soak, pytest.mark.timeout(1800)]),
    ],
)
def test_versions_change_under_load_and_no_answer_is_lost_or_of_two_of_them(
    root: Path, another: Path, changes: int, requests: int
) -> None:
    weights = [another, root.parent / "first"]
    shutil.copytree(root / "fr-en/1", weights[1])
    expected = [answers(each) for each in weights]
    telling = [
        text for (text, beam), said in expected[0].items() if beam == 1 and said != expected[1][text, 1]
    ]
    assert len(telling) > 12

    async def scenario() -> None:
        with serving(root, "--watch", 0.1) as (started, address):
            async with grpc.aio.insecure_channel(address) as channel:
                load = Load(TranslationServiceStub(channel), telling, expected)
                await load.run(lambda: len(load.seconds) >= requests // 4)
                quiet = len(load.seconds)
                places = range(quiet, requests, (requests - quiet) // changes)[:changes]
                changing = asyncio.create_task(change(root / "fr-en", weights, places, load))
                await load.run(lambda: changing.done() and len(load.seconds) >= requests)
                await changing
            started.terminate()
            _, err = await asyncio.to_thread(started.communicate, timeout=60)
            assert started.returncode == 0, err
        quietly, busily = load.seconds[:quiet], load.seconds[quiet:]
        print(f"\n{changes} versions came, {len(load.seconds):,} requests, 0 lost; p99 {p99(quietly)}")
        print(f"in the time of the changes {p99(busily)}, while one was opened {p99(load.opening)}")

    asyncio.run(scenario())
