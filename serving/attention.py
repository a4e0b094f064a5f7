"""attention.onnx of the versions: what was looked at to say an answer. One at a time, off the event loop.

S source length, T target length, H heads.
"""

import asyncio
import os
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from serving.requests import QueueFullError

MOST_WAITING = 64
FLOAT_BYTES = 4

Weights = NDArray[np.float32]


class Attended(NamedTuple):
    """The attention of one part."""

    source: Sequence[int]
    target: Sequence[int]
    encoder: Weights  # (layers, H, S, S)
    decoder: Weights  # (layers, H, T, T)
    cross: Weights  # (layers, H, T, S)

    def alignment(self) -> list[int]:
        """For each target token the source token that it looks at most: in the layer before the last, which
        is known to align best, its heads together."""
        looks = self.cross[-2:][0].mean(axis=0)
        return [int(place) for place in looks.argmax(axis=-1)]

    @property
    def bytes(self) -> int:
        """Of the weights in a message."""
        return FLOAT_BYTES * (self.encoder.size + self.decoder.size + self.cross.size)


class Graph:
    """attention.onnx of a version: loaded when it is first asked, even if the directory is gone by then."""

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDONLY)
        self._close = weakref.finalize(self, os.close, descriptor)
        self._path = Path(f"/proc/self/fd/{descriptor}")
        self._session: Any = None

    def attended(self, source: Sequence[int], target: Sequence[int]) -> Attended:
        """One at a time."""
        if self._session is None:
            from export.runtimes.scheduler_onnx import session  # noqa: PLC0415 (the library, when it is needed)

            self._session = session(self._path)
            self._close()
        rows = {"source": np.array([source], np.int32), "target": np.array([target], np.int32)}
        encoder, decoder, cross = self._session.run(["encoder", "decoder", "cross"], rows)
        return Attended(source, target, encoder[:, 0], decoder[:, 0], cross[:, 0])


class Attention:
    """Who asks for it, one after the other."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def __call__(self, graph: Graph, source: Sequence[int], target: Sequence[int]) -> Attended:
        """Of a source and an answer, each with its end; or QueueFullError."""
        if self._waiting == MOST_WAITING:
            raise QueueFullError(f"{MOST_WAITING} requests are waiting for attention")
        self._waiting += 1
        try:
            async with self._turn:
                return await asyncio.to_thread(graph.attended, source, target)
        finally:
            self._waiting -= 1
