"""Decoding of a Keras model in ONNX Runtime.

ONNX Runtime prepares the weights for its matrix products once; TensorFlow does so in every product
(docs/decisions/decoding.md).
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_transformer.cores import usable_cores
from keras_transformer.decoding.traced_search import Search
from keras_transformer.decoding.tracing import without_gradients
from keras_transformer.graphs import choice, recurrent, transformer
from keras_transformer.graphs.builder import Graph
from keras_transformer.graphs.precision import Float32, Products
from keras_transformer.inference.backend import Backend
from keras_transformer.inference.backends.onnx_runtime import OnnxBackend
from keras_transformer.inference.backends.recurrent import RecurrentBackend
from keras_transformer.inference.backends.session import open_session
from keras_transformer.inference.hosted_decoder import Decoder, MakeBackend
from keras_transformer.models.architectures import Configuration
from keras_transformer.models.encoder_decoder import EncoderDecoder
from keras_transformer.models.recurrent import RecurrentTranslationModel
from keras_transformer.models.weights import network_weights, recurrent_weights, unlike_network


class Graphs(NamedTuple):
    """What decodes the models of a class in ONNX Runtime.

    Attributes:
        weights: Returns the sizes and weights of a model.
        encoder: Builds the graph of the encoder from them.
        decoder: Builds the graph of the decoder from them.
        backend: Backend of the two graphs.
    """

    weights: Callable[[Any], Any]
    encoder: Callable[[Any, Products], Graph]
    decoder: Callable[[Any, Products], Graph]
    backend: Callable[..., Backend]


TRANSFORMER = Graphs(network_weights, transformer.encoder, transformer.decoder, OnnxBackend)
RECURRENT = Graphs(recurrent_weights, recurrent.encoder, recurrent.decoder, RecurrentBackend)


def refusal(model: EncoderDecoder) -> str | None:
    """Return the reason why this model has no ONNX graphs, or None if it has them."""
    reason, network = unlike_network(model), model.network
    if reason or isinstance(model, RecurrentTranslationModel):
        return reason
    return transformer.refusal(network.activation, network.width, network.num_heads, network.decoder_heads)


class HostedModel:
    """A model and the ONNX sessions of its weights, which are renewed when the weights have changed."""

    def __init__(self, model: EncoderDecoder) -> None:
        self.model = model
        self.graphs = RECURRENT if isinstance(model, RecurrentTranslationModel) else TRANSFORMER
        self.graphs_made = 0
        self._read = _reader(model)
        self._values: list[NDArray[Any]] = []
        self._sessions: dict[Any, Any] = {}

    def decoder(self, search: Search, max_length: int, scores: bool = True) -> Decoder:
        """Return a decoder of rows with the current weights, whose greedy answers have scores or not."""
        make_backend = self.backends(search.start_id)
        return decoder_of(make_backend, self.model.network, search.end_id, max_length, scores)

    def backends(self, start_id: int) -> MakeBackend:
        """Return the function that creates a worker's backend, with the current weights."""
        _, encoder, decoder, backend = self.graphs
        sessions = self._sessions_of(encoder, decoder, _scores, _candidates)
        return partial(backend, *sessions, start_id)

    def candidates(self) -> Any:
        """Return the session of the graph of candidates, which has no weights."""
        (session,) = self._sessions_of(_candidates)
        return session

    def _sessions_of(self, *graphs: Any) -> list[Any]:
        """Return sessions of these graphs with the current weights."""
        values = self._read()
        if not all(map(_same, self._values, values)):
            self._sessions.clear()  # first, so that large weights are not in memory twice
        self._values = values
        for make in graphs:
            if make not in self._sessions:
                with without_gradients():
                    graph = make(self.graphs.weights(self.model), Float32())
                    self._sessions[make] = open_session(bytes(graph))
                self.graphs_made += 1
        return [self._sessions[make] for make in graphs]


def decoder_of(
    make_backend: MakeBackend, network: Configuration, end_id: int, max_length: int, scores: bool
) -> Decoder:
    """Return a decoder of rows on all cores, with the limits of a network."""
    return Decoder(
        make_backend,
        end_id,
        max_length,
        usable_cores(),
        limit=network.answer_limit,
        longest=network.max_length,
        scores=scores,
    )


def _scores(network: Any, products: Products) -> Graph:
    return choice.scores(network.target_vocabulary)


def _candidates(network: Any, products: Products) -> Graph:
    return choice.candidates(network.target_vocabulary)


def _reader(model: EncoderDecoder) -> Callable[[], list[NDArray[Any]]]:
    """Return a function that reads the current values of the model's weights."""
    weights = model.weights
    if keras.backend.backend() != "tensorflow":
        return lambda: [np.array(ops.convert_to_numpy(weight)) for weight in weights]
    import tensorflow as tf  # noqa: PLC0415

    read = tf.function(lambda: [weight.value.read_value() for weight in weights], autograph=False)
    graph = read.get_concrete_function()
    # views: TensorFlow writes a new value to other memory while a view of the old one exists
    return lambda: [np.asarray(memoryview(value)) for value in graph()]


def _same(known: NDArray[Any], value: NDArray[Any]) -> bool:
    return np.may_share_memory(known, value) or np.array_equal(known, value)
