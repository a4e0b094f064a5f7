"""A small model with weights that matter, and sources of every length."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.support.small_network import END, VOCABULARY, small_network

if TYPE_CHECKING:
    from keras_transformer import TranslationModel


@pytest.fixture(scope="module")
def model() -> "TranslationModel":
    return small_network()


@pytest.fixture(scope="module")
def sessions(model: "TranslationModel") -> list[Any]:
    """The model's graphs in ONNX Runtime: encoder, decoder, and what gives a beam its candidates."""
    from keras_transformer.graphs.precision import Float32
    from keras_transformer.graphs.transformer import candidates, decoder, encoder
    from keras_transformer.inference.backends.session import open_session
    from keras_transformer.models.weights import network_weights

    network = network_weights(model)
    graphs = encoder(network, Float32()), decoder(network, Float32()), candidates(VOCABULARY)
    return [open_session(bytes(graph)) for graph in graphs]


@pytest.fixture(scope="module")
def rows() -> list[list[int]]:
    rng = np.random.default_rng(7)
    return [[*rng.integers(4, VOCABULARY, rng.integers(1, 20)).tolist(), END] for _ in range(150)]
