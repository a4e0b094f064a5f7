"""A decoder taken position by position over its cache, and held against the whole target at once."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import TransformerDecoder

BATCH, LENGTH, WIDTH, SOURCE = 3, 4, 8, 5
REAL = np.arange(SOURCE) < np.array([[5], [2], [3]])

tensorflow_only = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="only TensorFlow has lengths unknown while it traces"
)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def make(norm_first: bool = True, with_memory: bool = True, **settings: Any) -> TransformerDecoder:
    decoder = TransformerDecoder(num_layers=2, num_heads=2, inner_width=12, norm_first=norm_first, **settings)
    decoder.build((None, None, WIDTH), (None, None, 6) if with_memory else None)
    for seed, weight in enumerate(decoder.trainable_weights):
        if weight.name in ("bias", "beta"):
            weight.assign(normal(*weight.shape, seed=seed) * 0.3)
    return decoder


def numbers(tensors: Sequence[Any]) -> list[np.ndarray]:
    return [ops.convert_to_numpy(tensor) for tensor in tensors]


def start(
    decoder: TransformerDecoder, memory: np.ndarray | None, length: int = LENGTH, rows: slice = slice(None)
) -> Any:
    if memory is None:
        return decoder.start(BATCH, length)
    return decoder.start(BATCH, length, memory, memory_mask=ops.convert_to_tensor(REAL[rows]))


def filled(cache: Any, value: float) -> Any:
    """The cache, every key and value of the target overwritten."""
    blocks = [
        block._replace(key=ops.full_like(block.key, value), value=ops.full_like(block.value, value))
        for block in cache.blocks
    ]
    return cache._replace(blocks=tuple(blocks))


def step(
    decoder: TransformerDecoder, vectors: np.ndarray, positions: np.ndarray, cache: Any, **settings: Any
) -> Any:
    return decoder.step(
        ops.convert_to_tensor(vectors[:, None]), ops.convert_to_tensor(positions), cache, **settings
    )


def assert_each_step_is_its_row_of(
    full: tuple[np.ndarray, list[list[np.ndarray]]],
    decoder: TransformerDecoder,
    targets: np.ndarray,
    cache: Any,
    schedule: Sequence[Sequence[int]],
    atol: float = 1e-5,
) -> Any:
    """schedule: for each step, the position of each row. Rows take their own target's vectors."""
    outputs, scores = full
    rows = np.arange(BATCH)
    for positions in np.array(schedule):
        output, cache, *found = step(
            decoder, targets[rows, positions], positions, cache, return_attention_scores=True
        )
        np.testing.assert_allclose(
            ops.convert_to_numpy(output)[:, 0], outputs[rows, positions], rtol=0, atol=atol
        )
        assert len(found) == len(scores)
        for kind, (ones, wholes) in enumerate(zip(found, scores, strict=True)):
            for one, whole in zip(numbers(ones), wholes, strict=True):
                assert one.shape[2] == 1
                own = slice(LENGTH if kind == 0 else SOURCE)
                np.testing.assert_allclose(one[:, :, 0, own], whole[rows, :, positions], rtol=0, atol=atol)
                np.testing.assert_array_equal(one[:, :, 0, own.stop :], 0)
    return cache
