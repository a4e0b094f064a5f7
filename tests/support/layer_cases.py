"""Every public layer with what it takes, and ways to compare what it answers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

import keras_transformer as kt

BATCH, LENGTH, SOURCE, WIDTH, MEMORY_WIDTH, VOCABULARY = 2, 5, 4, 8, 6, 11
BLOCK = {"num_heads": 2, "inner_width": 12}
STACK = {"num_layers": 2, **BLOCK}
#: What differs from the defaults in decoder-only models and T5.
OPTIONS = {
    "normalization": "rms",
    "gated": True,
    "use_bias": False,
    "relative_bias": {"num_buckets": 4, "max_distance": 8},
    "attention_options": {
        "num_key_value_heads": 2,
        "key_dim": 6,
        "score_scale": 0.5,
        "rotary": kt.RotaryPositions(base=100.0, factor=4.0, original_length=32),
    },
}
REAL = np.arange(LENGTH) < np.array([[5], [3]])
MEMORY_REAL = np.arange(SOURCE) < np.array([[2], [4]])


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


X, MEMORY = normal(BATCH, LENGTH, WIDTH), normal(BATCH, SOURCE, MEMORY_WIDTH, seed=1)
IDS = np.where(REAL, np.random.default_rng(2).integers(1, VOCABULARY, (BATCH, LENGTH)), 0).astype("int32")


@dataclass(frozen=True)
class Case:
    """A layer, how it is made, and what it takes."""

    name: str
    make: partial[keras.layers.Layer]
    takes: tuple[str, ...] = ("x",)
    drops: bool = True
    attends: bool = True

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        return tuple({"x": X, "memory": MEMORY, "ids": IDS}[name] for name in self.takes)

    def inputs(self, length: int | None = None, source: int | None = None) -> list[keras.KerasTensor]:
        shapes = {"x": (length, WIDTH), "memory": (source, MEMORY_WIDTH), "ids": (length,)}
        types = {"ids": "int32"}
        return [keras.Input(shapes[name], dtype=types.get(name), name=name) for name in self.takes]

    @property
    def mask_shape(self) -> tuple[int, int]:
        """Of the attention_mask without its batch."""
        return (LENGTH, SOURCE) if self.make.func is kt.MultiHeadAttention else (LENGTH, LENGTH)


def cases() -> Iterator[Case]:
    yield Case("cross_attention", partial(kt.MultiHeadAttention, num_heads=2), ("x", "memory"))
    yield Case(
        "additive_attention",
        partial(kt.AdditiveAttention, width=6),
        ("x", "memory"),
        drops=False,
        attends=False,
    )
    yield Case("self_attention", partial(kt.MultiHeadSelfAttention, num_heads=2))
    yield Case("sinusoidal", partial(kt.PositionalEncoding, max_length=9), drops=False, attends=False)
    yield Case(
        "learned",
        partial(kt.PositionalEncoding, max_length=9, kind="learned"),
        drops=False,
        attends=False,
    )
    yield Case("feed_forward", partial(kt.FeedForward, inner_width=12), attends=False)
    yield Case("gated_feed_forward", partial(kt.GatedFeedForward, inner_width=12), attends=False)
    yield Case(
        "embedding", partial(kt.TokenEmbedding, VOCABULARY, WIDTH), ("ids",), drops=False, attends=False
    )
    for norm, first in ("pre", True), ("post", False):
        yield Case(f"encoder_block_{norm}", partial(kt.TransformerEncoderBlock, **BLOCK, norm_first=first))
        yield Case(f"encoder_{norm}", partial(kt.TransformerEncoder, **STACK, norm_first=first))
        yield Case(
            f"decoder_block_{norm}",
            partial(kt.TransformerDecoderBlock, **BLOCK, norm_first=first),
            ("x", "memory"),
        )
        yield Case(
            f"decoder_{norm}", partial(kt.TransformerDecoder, **STACK, norm_first=first), ("x", "memory")
        )
    yield Case(
        "decoder_options",
        partial(kt.TransformerDecoder, **{**STACK, "num_heads": 4}, **OPTIONS),
        ("x", "memory"),
    )
    yield Case("decoder_block_alone", partial(kt.TransformerDecoderBlock, **BLOCK))
    yield Case("decoder_alone", partial(kt.TransformerDecoder, **STACK, causal=False))


CASES = {case.name: case for case in cases()}
every = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def number(tensor: Any) -> np.ndarray:
    return ops.convert_to_numpy(ops.cast(tensor, "float32"))


def flat(outputs: Any) -> list[np.ndarray]:
    return [number(tensor) for tensor in keras.tree.flatten(outputs)]


def same(found: Any, expected: Any, atol: float = 1e-5) -> None:
    found, expected = flat(found), flat(expected)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=atol)


def as_tensors(arrays: Iterable[np.ndarray]) -> list[Any]:
    return [ops.convert_to_tensor(array) for array in arrays]


def allowed_by(case: Case, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).random((BATCH, *case.mask_shape)) < 0.6


def batch_of(batch: int, length: int, source: int) -> dict[str, np.ndarray]:
    ids = np.random.default_rng(4).integers(0, VOCABULARY, (batch, length)).astype("int32")
    return {
        "x": normal(batch, length, WIDTH, seed=5),
        "memory": normal(batch, source, MEMORY_WIDTH, seed=6),
        "ids": ids,
    }


class Together:
    """All the layers in one model, so that one compilation serves all; lengths and batch left open."""

    def __init__(self) -> None:
        self.inputs = {
            "x": keras.Input((None, WIDTH), name="x"),
            "memory": keras.Input((None, MEMORY_WIDTH), name="memory"),
            "ids": keras.Input((None,), dtype="int32", name="ids"),
        }
        # one block to a stack: the second would be compiled for nothing
        single = {
            name: {"num_layers": 1} if "num_layers" in case.make.keywords else {}
            for name, case in CASES.items()
        }
        self.layers = {name: case.make(name=name, **single[name]) for name, case in CASES.items()}
        self.model = keras.Model(self.inputs, self.call(self.inputs))

    def call(self, inputs: dict[str, Any]) -> dict[str, Any]:
        outputs = {}
        for name, case in CASES.items():
            scores = {"return_attention_scores": True} if case.attends else {}
            taken = [inputs[taken] for taken in case.takes]
            found = self.layers[name](*taken, **scores)
            outputs |= {f"{name}/{i}": tensor for i, tensor in enumerate(keras.tree.flatten(found))}
        return outputs
