"""Many requests at once, of a real exported model: each gets what it would get alone."""

import asyncio
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from export.artifact.manifest import open_version
from export.formats.runtimes.onnx_scheduler_runtime import SchedulerOnnx
from keras_transformer.phrasebook import phrasebook
from serving.registry.discovery import find_versions, open_models
from serving.registry.served_version import EngineSettings
from serving.v1 import translation_pb2 as wire
from tests.support.counts import counts
from tests.support.serving.echo import stub

TEXTS = [pair.source for pair in phrasebook("fr-en", "test", 300)]
UNDER_WAY = 200
BEAMS = (1, 1, 1, 2, 4)


@counts(600, 10_000)
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_whenever_requests_come_and_beside_whatever_each_says_what_it_says_alone(
    exported: Path, precision: str, count: int
) -> None:
    version, rng = open_version(exported), random.Random(8)
    tokenizer, longest = version.tokenizer, version.manifest.limits.source_tokens
    runtime = SchedulerOnnx(exported / "onnx", precision, tokenizer.bos_id, tokenizer.eos_id, longest)
    sources = tokenizer.encode_source(TEXTS)
    undivided = [
        (text, row)
        for text, row in zip(TEXTS, sources, strict=True)
        if len(row) <= version.manifest.lengths.longest
    ]
    expected = {  # each beam has texts of its own
        beam: {text: runtime.search([row], beam, loop_guard=True)[0][0] for text, row in undivided[place::3]}
        for place, beam in enumerate(sorted(set(BEAMS)))
    }
    differing, asked = 0, 0
    room = asyncio.Semaphore(UNDER_WAY)

    def check(text: str, beam: int, answer: wire.Translation) -> None:
        nonlocal differing
        alone = expected[beam][text]
        found = [(token.id, token.log_prob) for token in answer.tokens]
        same = found == list(zip(alone.ids, np.float32(alone.log_probs), strict=True))
        score = sum(alone.log_probs) / len(alone.log_probs)
        differing += not (same and np.float32(answer.score) == np.float32(score))

    async def one(service: Any, texts: list[str], beam: int) -> None:
        async with room:
            options = wire.Options(scores=True, beam=beam)
            if len(texts) > 1:
                batch = wire.BatchTranslateRequest(texts=texts, options=options)
                for text, each in zip(texts, (await service.BatchTranslate(batch)).segments, strict=True):
                    check(text, beam, each.translation)
            elif rng.random() < 0.3:
                call = service.StreamTranslate(wire.StreamTranslateRequest(text=texts[0], options=options))
                check(texts[0], beam, [each async for each in call][-1].translation)
            else:
                request = wire.TranslateRequest(text=texts[0], options=options)
                check(texts[0], beam, (await service.Translate(request)).translation)

    async def scenario() -> None:
        nonlocal asked
        models = await asyncio.to_thread(
            open_models, find_versions(exported), EngineSettings(precision, slots=13)
        )
        async with stub(*models.serving) as service, asyncio.TaskGroup() as group:
            while asked < count:
                beam = rng.choice(BEAMS)
                texts = rng.choices([*expected[beam]], k=rng.randrange(2, 12) if rng.random() < 0.1 else 1)
                asked += len(texts)
                await room.acquire()
                room.release()
                group.create_task(one(service, texts, beam))
                await asyncio.sleep(rng.expovariate(2_000))

    asyncio.run(scenario())
    print(f"\n{asked:,} requests, {precision}: {differing} differ from decoding alone")
    assert differing == 0
