"""A small model with weights that matter, and sources of every length."""

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from keras_transformer.text.lengths import AnswerLimit
from tests.support.small_network import END, LONGEST, VOCABULARY, small_network

if TYPE_CHECKING:
    from keras_transformer import TranslationModel


@pytest.fixture(scope="module")
def model() -> "TranslationModel":
    return small_network()


@pytest.fixture(scope="module")
def sessions(model: "TranslationModel") -> list[Any]:
    """The model's graphs in ONNX Runtime: encoder, decoder, log-probabilities, and candidates of a beam."""
    from keras_transformer.graphs.choice import candidates, scores
    from keras_transformer.graphs.precision import Float32
    from keras_transformer.graphs.transformer import decoder, encoder
    from keras_transformer.inference.backends.session import open_session
    from keras_transformer.models.weights import network_weights

    network = network_weights(model)
    graphs = [make(network, Float32()) for make in (encoder, decoder)]
    graphs += [make(VOCABULARY) for make in (scores, candidates)]
    return [open_session(bytes(graph)) for graph in graphs]


@pytest.fixture(scope="module")
def rows() -> list[list[int]]:
    rng = np.random.default_rng(7)
    return [[*rng.integers(4, VOCABULARY, rng.integers(1, 20)).tolist(), END] for _ in range(150)]


@pytest.fixture(scope="module")
def end_id(sessions: list[Any], rows: list[list[int]]) -> int:
    """A token that many answers come to, though few begin with it: random weights know no end."""
    from keras_transformer.inference.backends.onnx_runtime import OnnxBackend
    from keras_transformer.inference.hosted_decoder import Decoder

    endless = Decoder(partial(OnnxBackend, *sessions, 2), -1, LONGEST, limit=AnswerLimit(0, LONGEST))
    answers = [answer.ids for (answer,) in endless.search(rows[:60])]
    late = Counter(token for ids in answers for token in {*ids[3:]} - {*ids[:3]})
    return late.most_common(1)[0][0]
