"""The rows of a version in TensorFlow, through the signatures `encode` and `step` of its SavedModel.

2 L keys and values of the layers, B rows, H heads, S longest source, T positions so far, K width of a head.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  (without its operators the graph does not load)

from keras_transformer.inference.backend import LogProbs, Tokens

GROWTH = 8  # positions by which the cache grows


class TensorFlowRuntime:
    """What is there is never written over: a step gives a cache of its own."""

    def __init__(self, directory: Path, slots: int, start_id: int) -> None:
        self.slots = slots
        self.start_id = start_id
        self._loaded = tf.saved_model.load(str(directory))
        self._encode, self._step = (self._loaded.signatures[name] for name in ("encode", "step"))
        self._token = self._position = self._memory_length = np.zeros(0, np.int32)
        self._memory: Any = None  # (2 L, B, H, S, K), and behind the end of a row's source nothing
        self._cache: Any = None  # (2 L, B, H, T, K)

    def admit(self, sources: Sequence[Sequence[int]]) -> None:
        source = np.array(sources, np.int32)
        rows, length = source.shape
        coming = self._encode(source=tf.constant(source))["memory"]
        memory = coming[:, :0] if self._memory is None else self._memory
        cache = coming[:, :0, :, :0] if self._cache is None else self._cache
        longest = max(memory.shape[3], length)
        memory = tf.concat([_with_positions(each, longest) for each in (memory, coming)], axis=1)
        cache = tf.pad(cache, [[0, 0], [0, rows], [0, 0], [0, 0], [0, 0]])
        self._memory, self._cache = memory, cache
        self._token = np.append(self._token, np.full(rows, self.start_id, np.int32))
        self._position = np.append(self._position, np.zeros(rows, np.int32))
        self._memory_length = np.append(self._memory_length, np.full(rows, length, np.int32))

    def step(self) -> tuple[Tokens, LogProbs]:
        found = self._stepped(np.arange(len(self._token)))
        self._cache = found["cache_written"]
        self._token = found["next"].numpy()
        self._position = self._position + 1
        return self._token, found["log_prob"].numpy()

    def step_alone(self, row: int) -> tuple[int, float]:
        found = self._stepped(np.array([row]))
        cache = _with_positions(self._cache, found["cache_written"].shape[3])
        self._cache = tf.concat([cache[:, :row], found["cache_written"], cache[:, row + 1 :]], axis=1)
        self._token, self._position = self._token.copy(), self._position.copy()
        self._token[row] = found["next"].numpy()[0]
        self._position[row] += 1
        return int(self._token[row]), float(found["log_prob"].numpy()[0])

    def retire(self, row: int) -> None:
        last = len(self._token) - 1
        kept = np.arange(last)
        if row < last:
            kept[row] = last
        self._token, self._position = self._token[kept], self._position[kept]
        self._memory_length = self._memory_length[kept]
        self._memory = tf.gather(self._memory, kept, axis=1)[:, :, :, : self._memory_length.max(initial=0)]
        self._cache = tf.gather(self._cache, kept, axis=1)[:, :, :, : self._position.max(initial=0)]

    def _stepped(self, rows: Any) -> Any:
        position = self._position[rows]
        needed = -(-(int(position.max(initial=0)) + 1) // GROWTH) * GROWTH
        cache = tf.gather(self._cache, rows, axis=1)
        return self._step(
            token=tf.constant(self._token[rows]),
            position=tf.constant(position),
            memory_length=tf.constant(self._memory_length[rows]),
            memory=tf.gather(self._memory, rows, axis=1),
            cache=_with_positions(cache, max(needed, cache.shape[3])),
        )


def _with_positions(part: Any, length: int) -> Any:
    """(2 L, B, H, T, K) -> (2 L, B, H, length, K)."""
    return tf.pad(part, [[0, 0], [0, 0], [0, 0], [0, length - part.shape[3]], [0, 0]])
