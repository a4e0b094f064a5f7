"""Backend on TensorFlow, which calls the signatures `encode` and `step` of a SavedModel.

2 L keys and values of the layers, B rows, H heads, S longest source, T positions so far, K head width.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  (without its operators the graph does not load)

from keras_transformer.inference.backend import Candidates, Encoded, Floats, Ids, StepResult

GROWTH = 8  # positions by which the cache grows


class SavedModelBackend:
    """Backend for greedy decoding; the signatures return no candidates. Each step creates a new cache."""

    has_candidates = False

    def __init__(self, directory: Path, start_id: int, slots: int) -> None:
        self.slots = slots
        self.start_id = start_id
        self._loaded = tf.saved_model.load(str(directory))
        self._encode, self._step = (self._loaded.signatures[name] for name in ("encode", "step"))
        self._token = self._position = self._memory_length = np.zeros(0, np.int32)
        self._log_probs = np.zeros(0, np.float32)
        self._memory: Any = None  # (2 L, B, H, S, K), zeros after the end of a row's source
        self._cache: Any = None  # (2 L, B, H, T, K)

    def encode(self, sources: Sequence[Sequence[int]]) -> Encoded:
        """Encode sources of one length."""
        return [self._encode(source=tf.constant(np.array(sources, np.int32)))["memory"]]

    def admit(self, encoded: Encoded, copies: int = 1) -> None:
        """Append encoded sentences to memory and cache, `copies` times each."""
        coming = tf.repeat(encoded[0], copies, axis=1)
        _, rows, _, length, _ = coming.shape
        memory = coming[:, :0] if self._memory is None else self._memory
        cache = coming[:, :0, :, :0] if self._cache is None else self._cache
        longest = max(memory.shape[3], length)
        memory = tf.concat([_with_positions(part, longest) for part in (memory, coming)], axis=1)
        cache = tf.pad(cache, [[0, 0], [0, rows], [0, 0], [0, 0], [0, 0]])
        self._memory, self._cache = memory, cache
        self._token = np.append(self._token, np.full(rows, self.start_id, np.int32))
        self._position = np.append(self._position, np.zeros(rows, np.int32))
        self._memory_length = np.append(self._memory_length, np.full(rows, length, np.int32))

    def step(self) -> StepResult:
        """Decode the next token of every row."""
        result = self._run(np.arange(len(self._token)))
        self._cache = result["cache_written"]
        self._token = result["next"].numpy()
        self._position = self._position + 1
        self._log_probs = result["log_prob"].numpy()
        return StepResult(self._token, self._log_probs)

    def step_alone(self, row: int) -> StepResult:
        """Decode the next token of one row."""
        result = self._run(np.array([row]))
        cache = _with_positions(self._cache, result["cache_written"].shape[3])
        self._cache = tf.concat([cache[:, :row], result["cache_written"], cache[:, row + 1 :]], axis=1)
        self._token, self._position = self._token.copy(), self._position.copy()
        self._log_probs = np.resize(self._log_probs, len(self._token))
        self._token[row] = result["next"].numpy()[0]
        self._log_probs[row] = result["log_prob"].numpy()[0]
        self._position[row] += 1
        return StepResult(self._token[row : row + 1], self._log_probs[row : row + 1])

    def log_probs(self) -> Floats:
        """Return the log-probability of the likeliest token of each row."""
        return self._log_probs

    def candidates(self, count: int) -> Candidates:
        """Refuse, because the signatures return no candidates."""
        raise NotImplementedError("the signatures of a SavedModel return no candidates.")

    def follow(self, rows: Ids, parents: Ids, tokens: Ids) -> None:
        """Give rows the state of their parents, and set the last tokens."""
        source = np.arange(len(self._token))
        source[rows] = parents
        self._cache = tf.gather(self._cache, source, axis=1)
        self._position = self._position[source]
        self._token = self._token.copy()
        self._token[rows] = tokens

    def retire(self, row: int) -> None:
        """Remove a row; the last row takes its index."""
        last = len(self._token) - 1
        kept = np.arange(last)
        if row < last:
            kept[row] = last
        self._token, self._position = self._token[kept], self._position[kept]
        self._memory_length = self._memory_length[kept]
        self._memory = tf.gather(self._memory, kept, axis=1)[:, :, :, : self._memory_length.max(initial=0)]
        self._cache = tf.gather(self._cache, kept, axis=1)[:, :, :, : self._position.max(initial=0)]

    def _run(self, rows: Any) -> Any:
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
    """Pad (2 L, B, H, T, K) to (2 L, B, H, length, K)."""
    return tf.pad(part, [[0, 0], [0, 0], [0, 0], [0, length - part.shape[3]], [0, 0]])
