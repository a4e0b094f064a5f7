"""Attention of answers from the versions' attention.onnx, computed one at a time outside the event loop.

S source length, T target length, H heads.
"""

import asyncio
import os
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_transformer.inference.alignment import aligned, alignment_layer
from keras_transformer.inference.queue import QueueFullError

MAX_SENTENCES = 1024  # largest number of waiting sentences, as in an engine's queue by default
FLOAT_BYTES = 4

Weights = NDArray[np.float32]


class Attended(NamedTuple):
    """Attention weights of one part.

    Attributes:
        source: Ids of the source.
        target: Ids of the answer.
        encoder: Self-attention of the encoder (layers, H, S, S).
        decoder: Self-attention of the decoder (layers, H, T, T).
        cross: Attention of the decoder to the source (layers, H, T, S).
    """

    source: Sequence[int]
    target: Sequence[int]
    encoder: Weights
    decoder: Weights
    cross: Weights

    def alignment(self) -> list[int]:
        """Return for each target token the source token with which it is aligned."""
        return aligned(self.cross[alignment_layer(len(self.cross))])

    @property
    def bytes(self) -> int:
        """Size of the weights in a message."""
        return FLOAT_BYTES * (self.encoder.size + self.decoder.size + self.cross.size)


class AttentionGraph:
    """Graph attention.onnx of a version, loaded at its first use, even if the directory is gone then."""

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDONLY)
        self._close = weakref.finalize(self, os.close, descriptor)
        self._path = Path(f"/proc/self/fd/{descriptor}")
        self._session: Any = None

    def attended(self, source: Sequence[int], target: Sequence[int]) -> Attended:
        """Compute the attention of one answer.

        Args:
            source: Ids of the source, with its end id.
            target: Ids of the answer, with its end id.
        """
        if self._session is None:
            from keras_transformer.inference.backends.session import open_session  # noqa: PLC0415 (the library, when it is needed)

            self._session = open_session(self._path)
            self._close()
        rows = {"source": np.array([source], np.int32), "target": np.array([target], np.int32)}
        encoder, decoder, cross = self._session.run(["encoder", "decoder", "cross"], rows)
        return Attended(source, target, encoder[:, 0], decoder[:, 0], cross[:, 0])


class AttentionQueue:
    """Queue of attention computations in one thread, one answer after the other."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "attention")
        self._room = BoundedSemaphore(MAX_SENTENCES)

    async def __call__(self, graph: AttentionGraph, source: Sequence[int], target: Sequence[int]) -> Attended:
        """Compute the attention of a source and its answer, each with its end id.

        Raises:
            QueueFullError: If MAX_SENTENCES others wait.
        """
        if not self._room.acquire(blocking=False):
            raise QueueFullError(f"{MAX_SENTENCES:,} sentences are waiting for attention. Repeat it later.")
        computed = self._thread.submit(graph.attended, source, target)
        computed.add_done_callback(lambda _: self._room.release())
        return await asyncio.wrap_future(computed)
