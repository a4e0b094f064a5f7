"""The weights of a model by name: all that ONNX graphs and the files of other engines are written from."""

from collections.abc import Callable
from dataclasses import replace

import keras
import numpy as np
import pytest

from keras_transformer import TranslationModel
from keras_transformer.graphs.builder import Graph
from keras_transformer.graphs.network_weights import NetworkWeights
from keras_transformer.graphs.precision import Float32
from keras_transformer.graphs.transformer import decoder, encoder
from keras_transformer.models.network import Network
from keras_transformer.models.weights import network_weights

WIDTH, INNER, SOURCE, TARGET, LENGTH = 16, 24, 50, 60, 20
NORM = {"gamma": (WIDTH,), "beta": (WIDTH,)}


def built(target: int | None = TARGET, **options: object) -> TranslationModel:
    keras.utils.set_random_seed(4)
    name = options.pop("name", None)
    settings = {"max_length": LENGTH, **options}
    model = TranslationModel(Network(2, 1, WIDTH, INNER, 2, **settings), SOURCE, target, name=name)
    model.build()
    return model


def dense(inputs: int, outputs: int) -> dict[str, tuple[int, ...]]:
    return {"kernel": (inputs, outputs), "bias": (outputs,)}


def documented(norm_first: bool) -> dict[str, tuple[int, ...]]:
    """The names and shapes of NetworkWeights, for two blocks of the encoder and one of the decoder."""
    block = {
        "self_attention_norm": NORM,
        "self_attention/query_key_value": dense(WIDTH, 3 * WIDTH),
        "self_attention/output": dense(WIDTH, WIDTH),
        "feed_forward_norm": NORM,
        "feed_forward/inner": dense(WIDTH, INNER),
        "feed_forward/outer": dense(INNER, WIDTH),
    }
    cross = {
        "cross_attention_norm": NORM,
        "cross_attention/query": dense(WIDTH, WIDTH),
        "cross_attention/key_value": dense(WIDTH, 2 * WIDTH),
        "cross_attention/output": dense(WIDTH, WIDTH),
    }
    layers = {
        "source_embedding": {"embeddings": (SOURCE, WIDTH)},
        "target_embedding": {"embeddings": (TARGET, WIDTH)},
        "positions": {"table": (LENGTH, WIDTH)},
        **{f"encoder/block_{index}/{name}": shapes for index in (0, 1) for name, shapes in block.items()},
        **{f"decoder/block_0/{name}": shapes for name, shapes in (block | cross).items()},
    }
    if norm_first:
        layers |= {"encoder/norm": NORM, "decoder/norm": NORM}
    return {f"{name}/{weight}": shape for name, shapes in layers.items() for weight, shape in shapes.items()}


@pytest.mark.parametrize("norm_first", [True, False])
def test_every_weight_has_its_documented_name_and_shape(norm_first: bool) -> None:
    arrays = network_weights(built(norm_first=norm_first)).arrays
    assert {name: array.shape for name, array in arrays.items()} == documented(norm_first)
    assert {array.dtype for array in arrays.values()} == {np.dtype("float32")}
    assert len(arrays) == len(documented(norm_first))


def test_every_number_of_a_model_is_in_one_of_them() -> None:
    model = built()
    arrays = network_weights(model).arrays
    table = arrays["positions/table"].size  # computed, not a weight
    assert sum(array.size for array in arrays.values()) == model.count_params() + table


def test_both_sides_of_a_joint_vocabulary_have_the_one_table() -> None:
    model = built(target=None)
    network = network_weights(model)
    assert network.target_vocabulary == SOURCE
    for side in ("source", "target"):
        assert np.array_equal(
            network.arrays[f"{side}_embedding/embeddings"], model.source_embedding.embeddings
        )


def test_weights_are_those_of_the_moment_of_the_lookup() -> None:
    """Nothing is copied before: an export holds large weights once."""
    model = built()
    arrays = network_weights(model).arrays
    kernel = model.encoder.blocks[0].feed_forward.inner.kernel
    kernel.assign(np.full((WIDTH, INNER), 7.0))
    assert (arrays["encoder/block_0/feed_forward/inner/kernel"] == 7.0).all()


def test_lora_s_change_is_in_the_weights() -> None:
    model = built()
    before = network_weights(model).arrays["target_embedding/embeddings"]
    model.target_embedding.enable_lora(2)
    model.target_embedding.lora_embeddings_a.assign(np.ones((TARGET, 2)))
    model.target_embedding.lora_embeddings_b.assign(np.ones((2, WIDTH)))
    # each row of A times each column of B: 1·1 + 1·1 = 2
    assert np.allclose(network_weights(model).arrays["target_embedding/embeddings"], before + 2.0)


@pytest.mark.parametrize("make", [encoder, decoder])
def test_arrays_from_elsewhere_make_the_same_graph(
    make: Callable[[NetworkWeights, Float32], Graph],
) -> None:
    """Whatever the model is called, and however many there were before it."""
    network = network_weights(built(name="another"))
    own = {name: array.copy() for name, array in network.arrays.items()}
    assert bytes(make(replace(network, arrays=own), Float32())) == bytes(make(network, Float32()))
    assert bytes(make(network_weights(built()), Float32())) == bytes(make(network, Float32()))


def test_what_a_graph_lacks_is_named() -> None:
    network = network_weights(built())
    arrays = {name: array for name, array in network.arrays.items() if name != "decoder/norm/beta"}
    with pytest.raises(KeyError, match="decoder/norm/beta"):
        decoder(replace(network, arrays=arrays), Float32())
