"""Callers that send on time, answered or not: a process that answers lines of JSON, as load.py does.

full      so many calls are always under way
arrivals  Poisson arrivals, each timed from when it should have left; how late they left is part of the result
alone     one at a time
"""

import argparse
import asyncio
import json
import os
import random
import sys
import time
from collections import Counter, deque
from itertools import cycle
from pathlib import Path
from typing import Any

import grpc
from http2 import Call, Connection, headers
from load import quantiles
from texts import SEED, TEXTS, drawn

from export.artifact.manifest import Version, open_version
from serving.v1 import translation_pb2 as wire

CONNECTIONS = 16
PROBE = 0.01  # seconds between two looks at whether a server has recovered
LEFT = 5.0  # seconds that the last calls of a load may take
OK, RESOURCE_EXHAUSTED = 0, 8
NAMES = {code.value[0]: code.name for code in grpc.StatusCode}


class Calls:
    """To one address over several connections, and what became of them."""

    def __init__(self, version: Version, port: int, seed: int, timeout: float | None) -> None:
        options = wire.Options(loop_guard=False)  # the peer decodes loops too
        messages = [
            wire.TranslateRequest(text=text, options=options).SerializeToString()
            for text in drawn(version, TEXTS, seed)
        ]
        self._messages = cycle(messages)
        self._block = headers(f"127.0.0.1:{port}", timeout)
        self._port = port
        self._connections: list[Connection] = []
        self._waiting: deque[Call] = deque()  # for a free stream
        self.answered: list[float] = []  # seconds
        self.refused: list[float] = []
        self.late: list[float] = []
        self.codes: Counter[str] = Counter()

    async def open(self) -> None:
        """Connect, and wait for the server's settings."""
        loop = asyncio.get_running_loop()
        for _ in range(CONNECTIONS):
            _, connection = await loop.create_connection(
                lambda: Connection(self._send_waiting), "127.0.0.1", self._port
            )
            self._connections.append(connection)
            await connection.ready.wait()

    async def close(self) -> None:
        """Close every connection."""
        for each in self._connections:
            each.close()
        for each in self._connections:
            await each.closed.wait()

    @property
    def under_way(self) -> int:
        """Calls that have no end yet, those that wait for a stream included."""
        return len(self._waiting) + sum(each.under_way for each in self._connections)

    def send(self, planned: float, on_end: Any = None) -> None:
        """Send one call now, or once a stream is free."""

        def end(seconds: float, status: int) -> None:
            self._count(seconds, status)
            if on_end is not None:
                on_end(status)

        self._waiting.append(Call(planned, end))
        self._send_waiting()

    async def one(self) -> bool:
        """Whether one call, sent now, is answered."""
        ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.send(time.perf_counter(), ended.set_result)
        return await ended == OK

    def _send_waiting(self) -> None:
        while self._waiting:
            connection = min(self._connections, key=lambda each: each.under_way if each.free else 2**31)
            if not connection.free:
                return
            call = self._waiting.popleft()
            self.late.append(time.perf_counter() - call.planned)
            connection.send(self._block, next(self._messages), call)

    def _count(self, seconds: float, status: int) -> None:
        self.codes[NAMES[status]] += 1
        if status == OK:
            self.answered.append(seconds)
        elif status == RESOURCE_EXHAUSTED:
            self.refused.append(seconds)


async def full(calls: Calls, under_way: int, seconds: float) -> dict[str, Any]:
    """Answers a second, with so many calls under way."""
    begun = time.perf_counter()

    async def again_and_again() -> None:
        while time.perf_counter() < begun + seconds:
            await calls.one()

    await asyncio.gather(*(again_and_again() for _ in range(under_way)))
    return {"rate": len(calls.answered) / (time.perf_counter() - begun), "codes": calls.codes}


async def arrivals(calls: Calls, rate: float, seconds: float, objective: float, seed: int) -> dict[str, Any]:
    """What was answered and refused, how late the calls left, and when one was answered again."""
    rng = random.Random(seed)
    busy, begun = time.process_time(), time.perf_counter()
    at, sent = begun + rng.expovariate(rate), 0
    while at < begun + seconds:
        if (early := at - time.perf_counter()) > 0:
            await asyncio.sleep(early)
        while at <= min(time.perf_counter(), begun + seconds):
            calls.send(at)
            sent, at = sent + 1, at + rng.expovariate(rate)
        await asyncio.sleep(0)
    over, busy = time.perf_counter(), time.process_time() - busy
    while not await calls.one():
        await asyncio.sleep(PROBE)
    recovered = time.perf_counter() - over
    while calls.under_way and time.perf_counter() < over + LEFT:
        await asyncio.sleep(PROBE)
    return {
        "offered": sent / seconds,
        "goodput": sum(each <= objective for each in calls.answered) / seconds,
        "answered": quantiles(calls.answered),
        "refused": quantiles(calls.refused),
        "codes": calls.codes,
        "without an end": calls.under_way,
        "late": quantiles(calls.late),
        "busy": busy / (over - begun),
        "recovered": recovered,
    }


async def alone(calls: Calls, count: int) -> dict[str, Any]:
    """The time of one call with nothing else under way."""
    for _ in range(count):
        await calls.one()
    return {"answered": quantiles(calls.answered), "codes": calls.codes}


async def _main(directory: Path) -> None:
    version = open_version(directory)
    tasks = {"full": full, "arrivals": arrivals, "alone": alone}
    print(json.dumps("ready"), flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        asked = json.loads(line)
        task, port = tasks[asked.pop("task")], asked.pop("port")
        calls = Calls(version, port, asked.get("seed", SEED), asked.get("objective"))
        await calls.open()
        print(json.dumps(await task(calls, **asked)), flush=True)
        await calls.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--core", type=int, required=True)
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.core})
    asyncio.run(_main(options.directory))
