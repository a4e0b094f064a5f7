"""Greedy decoding of a model in ONNX Runtime, which lays its weights out for the products once.

TensorFlow does so anew in every product (docs/decisions/decoding.md).
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from keras_transformer.cores import usable_cores
from keras_transformer.models.loops import Rows, Search
from keras_transformer.onnx.networks import decoder, encoder
from keras_transformer.onnx.products import Float32
from keras_transformer.onnx.scheduler import Scheduler, session

if TYPE_CHECKING:
    from keras_transformer.models.translation import TranslationModel


class Packed:
    """One model, and the graphs of its weights as they were when it was last asked."""

    def __init__(self, model: "TranslationModel") -> None:
        self.model = model
        self.times = 0  # that the weights were laid out
        weights = [weight.value for weight in model.weights]
        read = tf.function(lambda: [weight.read_value() for weight in weights], autograph=False)
        self._read = read.get_concrete_function()
        self._values: list[NDArray[Any]] = []
        self._sessions: list[Any] = []

    def greedy(self, rows: Rows, search: Search, most: int, prefixes: Rows | None) -> list[list[int]]:
        """For each row of source ids its answer, the end included if it is one of its `most` tokens."""
        encode, proceed = self._laid_out()
        scheduler = Scheduler(encode, proceed, search.start_id, search.end_id, most, usable_cores())
        return [answer.ids for answer in scheduler.translate_ids(rows, prefixes)]

    def _laid_out(self) -> list[Any]:
        """The encoder and the decoder, of now: those there are, unless a weight has changed since."""
        # views: TensorFlow writes a new value elsewhere as long as somebody holds the old one
        values = [np.asarray(memoryview(value)) for value in self._read()]
        sessions = self._sessions
        if not sessions or not all(map(_same, self._values, values)):
            self._sessions = sessions = []  # the old ones go first: large weights need not be there twice
            self._sessions = sessions = [
                session(bytes(make(self.model, Float32()))) for make in (encoder, decoder)
            ]
            self.times += 1
        self._values = values
        return sessions


def _same(known: NDArray[Any], value: NDArray[Any]) -> bool:
    return np.may_share_memory(known, value) or np.array_equal(known, value)
