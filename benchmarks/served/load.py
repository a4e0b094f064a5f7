"""The callers of a server, in a process of their own: a line of JSON says what to do, one what came of it.

full      so many requests are always under way
arrivals  they come when they come, answered or not: Poisson, and timed from when they should have left
alone     one at a time
"""

import argparse
import asyncio
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import grpc
from texts import SEED, TEXTS, drawn

from export.artifact.manifest import Version, open_version
from serving.v1 import translation_pb2 as wire

METHOD = "/serving.v1.TranslationService/Translate"
PROBE = 0.01  # seconds between two looks at whether a server has recovered


class Calls:
    """To one server, and what became of them."""

    def __init__(self, port: int, version: Version, seed: int, beam: int = 1) -> None:
        self._channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        self._call = self._channel.unary_unary(METHOD)
        options = wire.Options(beam=beam if beam > 1 else 0, loop_guard=False)  # the peer decodes loops too
        requests = [wire.TranslateRequest(text=text, options=options) for text in drawn(version, TEXTS, seed)]
        self._messages = cycle([each.SerializeToString() for each in requests])
        self.answered: list[float] = []  # seconds
        self.refused: list[float] = []
        self.codes: Counter[str] = Counter()
        self.tokens = 0

    async def one(self, since: float, timeout: float | None = None) -> bool:
        """-> whether it was answered; timed since then."""
        try:
            content = await self._call(next(self._messages), timeout=timeout)
        except grpc.aio.AioRpcError as error:
            self.codes[error.code().name] += 1
            if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED:
                self.refused.append(time.perf_counter() - since)
            return False
        self.answered.append(time.perf_counter() - since)
        self.tokens += wire.TranslateResponse.FromString(content).translation.usage.target_tokens
        return True

    async def close(self) -> None:
        """The connection ends."""
        await self._channel.close()


async def full(calls: Calls, under_way: int, seconds: float) -> dict[str, Any]:
    """-> the number of answers, the last ones included; answers and target tokens a second."""
    begun = time.perf_counter()

    async def again_and_again() -> None:
        while (now := time.perf_counter()) < begun + seconds:
            await calls.one(now)

    await asyncio.gather(*(again_and_again() for _ in range(under_way)))
    took = time.perf_counter() - begun
    count = len(calls.answered)
    return {"count": count, "rate": count / took, "tokens": calls.tokens / took, "codes": calls.codes}


async def arrivals(
    calls: Calls, rate: float, seconds: float, timeout: float | None, seed: int
) -> dict[str, Any]:
    """-> what was answered and refused, how late they left at worst, and when one was answered again."""
    rng, under_way = random.Random(seed), set()
    at = begun = time.perf_counter()
    late = 0.0
    while (at := at + rng.expovariate(rate)) < begun + seconds:
        if (early := at - time.perf_counter()) > 0:
            await asyncio.sleep(early)
        late = max(late, time.perf_counter() - at)
        task = asyncio.create_task(calls.one(at, timeout))
        under_way.add(task)
        task.add_done_callback(under_way.discard)
    sent, over = len(calls.answered) + sum(calls.codes.values()) + len(under_way), time.perf_counter()
    while not await calls.one(time.perf_counter(), timeout):
        await asyncio.sleep(PROBE)
    recovered = time.perf_counter() - over
    await asyncio.gather(*under_way)
    in_time = [each for each in calls.answered if timeout is None or each <= timeout]
    return {
        "offered": sent / seconds,
        "goodput": len(in_time) / seconds,
        "tokens": calls.tokens,
        "answered": quantiles(calls.answered),
        "refused": quantiles(calls.refused),
        "codes": calls.codes,
        "late": late,
        "recovered": recovered,
    }


async def alone(calls: Calls, count: int) -> dict[str, Any]:
    """-> the median, in seconds."""
    for _ in range(count):
        await calls.one(time.perf_counter())
    return {"answered": quantiles(calls.answered), "codes": calls.codes}


def quantiles(seconds: Sequence[float]) -> dict[str, float]:
    """The number of them, and what half and 99 % do not exceed."""
    if not seconds:
        return {"count": 0}
    ordered = sorted(seconds)
    return {
        "count": len(ordered),
        "p50": ordered[len(ordered) // 2],
        "p99": ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)],
    }


async def _main(directory: Path) -> None:
    version = open_version(directory)
    tasks = {"full": full, "arrivals": arrivals, "alone": alone}
    print(json.dumps("ready"), flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        asked = json.loads(line)
        task, port = tasks[asked.pop("task")], asked.pop("port")
        calls = Calls(port, version, asked.get("seed", SEED), asked.pop("beam", 1))
        print(json.dumps(await task(calls, **asked)), flush=True)
        await calls.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--core", type=int, required=True)
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.core})
    asyncio.run(_main(options.directory))
