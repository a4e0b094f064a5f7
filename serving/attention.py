"""attention.onnx of the versions: what was looked at to say an answer. One at a time, off the event loop.

S source length, T target length, H heads.
"""

import asyncio
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


class Attention:
    """The graphs that were asked for so far."""

    def __init__(self) -> None:
        self._sessions: dict[Path, Any] = {}
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def __call__(self, graph: Path, source: Sequence[int], target: Sequence[int]) -> Attended:
        """Of a source and an answer, each with its end; or QueueFullError."""
        if self._waiting == MOST_WAITING:
            raise QueueFullError(f"{MOST_WAITING} requests are waiting for attention")
        self._waiting += 1
        try:
            async with self._turn:
                return await asyncio.to_thread(self._run, graph, source, target)
        finally:
            self._waiting -= 1

    def _run(self, graph: Path, source: Sequence[int], target: Sequence[int]) -> Attended:
        if graph not in self._sessions:
            from export.runtimes.scheduler_onnx import session  # noqa: PLC0415 (the library, when it is needed)

            self._sessions[graph] = session(graph)
        rows = {"source": np.array([source], np.int32), "target": np.array([target], np.int32)}
        encoder, decoder, cross = self._sessions[graph].run(["encoder", "decoder", "cross"], rows)
        return Attended(source, target, encoder[:, 0], decoder[:, 0], cross[:, 0])
