"""The server of a side: says its port and that of bare gRPC, answers each line with one, ends with its input.

"direct N" decodes N texts one by one in its engine, without gRPC: their median in seconds.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import threading
import time
from pathlib import Path

from bare import start_bare
from engines import NAMES, model
from texts import SEED, TEXTS, drawn

from export.artifact.manifest import Version, open_version
from serving.limits import Limits
from serving.registry.registry import Registry
from serving.registry.served_version import ServedVersion
from serving.server import Server


def main() -> None:
    """One server."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", choices=NAMES)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--core", type=int, required=True)
    parser.add_argument("--precision", default="int8")
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--queue", type=int, default=1024)
    parser.add_argument("--beam", type=int, default=1)
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.core})
    asyncio.run(_serve(options))


async def _serve(options: argparse.Namespace) -> None:
    version = open_version(options.directory)
    made = model(options.side, version, options.precision, options.rows, options.queue, options.beam)
    server = Server(Limits())
    port = await server.start("127.0.0.1", 0)
    await server.open(Registry([made]))
    bare, bare_port = await start_bare(made, drawn(version, TEXTS, SEED))
    print(json.dumps([port, bare_port]), flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        count = int(line.removeprefix("direct"))
        print(json.dumps(await asyncio.to_thread(_direct, made, version, count)), flush=True)
    await bare.stop(0)
    await server.drain(0)


def _direct(made: ServedVersion, version: Version, count: int) -> float:
    """From ids to ids."""
    seconds = []
    for text in drawn(version, count, SEED):
        (request,) = made.requests([text])
        ended = threading.Event()
        request.on_end = lambda _, ended=ended: ended.set()
        begun = time.perf_counter()
        made.engine.submit(request)
        ended.wait()
        seconds.append(time.perf_counter() - begun)
    return statistics.median(seconds)


if __name__ == "__main__":
    main()
