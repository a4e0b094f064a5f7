"""Layers under keras.RematScope learn what they learn without it."""

from functools import cache

import keras
import numpy as np
import pytest

from keras_transformer import TokenEmbedding, TransformerDecoder, TransformerEncoder
from tests.support.compiling import JIT

SIZES = {"num_layers": 1, "num_heads": 2, "inner_width": 12, "dropout": 0.0}
IDS = np.array([[1, 2, 3, 0], [4, 5, 6, 7]])
TARGETS = np.random.default_rng(1).normal(size=(2, 4, 8)).astype("float32")


@cache
def learned(*recomputed: str) -> list[np.ndarray]:
    """The weights after a step over a model whose layers of these names are recomputed."""
    keras.utils.set_random_seed(1)
    with keras.RematScope(mode="list_of_layers", layer_names=list(recomputed)):
        ids = keras.Input((None,), dtype="int32")
        vectors = TokenEmbedding(11, 8)(ids)
        memory = TransformerEncoder(**SIZES, name="encoder")(vectors)
        decoded = TransformerDecoder(**SIZES, name="decoder")(vectors, memory=memory)
        model = keras.Model(ids, decoded)
        model.compile(keras.optimizers.SGD(0.1), "mse", jit_compile=JIT)
        model.fit(IDS, TARGETS, verbose=0)
    return model.get_weights()


@pytest.mark.parametrize(
    "recomputed",
    [["encoder", "decoder"], ["block_0"], ["self_attention", "cross_attention"]],
    ids=["stacks", "blocks", "attention"],
)
def test_a_step_with_gradient_checkpointing_is_the_step_without_it(recomputed: list[str]) -> None:
    for found, expected in zip(learned(*recomputed), learned(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
