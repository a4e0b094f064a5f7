"""A model's search in ONNX Runtime, which lays its weights out for the products once.

TensorFlow does so anew in every product (docs/decisions/decoding.md).
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from keras_transformer.cores import usable_cores
from keras_transformer.models.loops import Rows, Search
from keras_transformer.onnx.beams import BeamScheduler
from keras_transformer.onnx.networks import beam_decoder, decoder, encoder
from keras_transformer.onnx.products import Float32
from keras_transformer.onnx.scheduler import Scheduler, session

if TYPE_CHECKING:
    from keras_transformer.models.translation import TranslationModel


class Packed:
    """One model, and the graphs of its weights as they were when it was last asked."""

    def __init__(self, model: "TranslationModel") -> None:
        self.model = model
        self.made = 0  # graphs, as often as each was laid out
        weights = [weight.value for weight in model.weights]
        read = tf.function(lambda: [weight.read_value() for weight in weights], autograph=False)
        self._read = read.get_concrete_function()
        self._values: list[NDArray[Any]] = []
        self._sessions: dict[Any, Any] = {}

    def search(self, rows: Rows, search: Search, most: int, prefixes: Rows | None) -> list[list[list[int]]]:
        """For each row of source ids its answers, the end included if it is one of their `most` tokens."""
        start_id, end_id, beam, penalty = search
        if beam == 1:
            encode, proceed = self._laid_out(encoder, decoder)
            greedy = Scheduler(encode, proceed, start_id, end_id, most, usable_cores())
            return [[ids] if ids else [] for ids, _ in greedy.translate_ids(rows, prefixes)]
        encode, proceed = self._laid_out(encoder, beam_decoder)
        beams = BeamScheduler(encode, proceed, start_id, end_id, most, beam, penalty, usable_cores())
        return beams.search_ids(rows, prefixes)

    def _laid_out(self, *graphs: Any) -> list[Any]:
        """These graphs as of now: those there are, unless a weight has changed since."""
        # views: TensorFlow writes a new value elsewhere as long as somebody holds the old one
        values = [np.asarray(memoryview(value)) for value in self._read()]
        if not all(map(_same, self._values, values)):
            self._sessions.clear()  # the old ones go first: large weights need not be there twice
        self._values = values
        for make in graphs:
            if make not in self._sessions:
                self._sessions[make] = session(bytes(make(self.model, Float32())))
                self.made += 1
        return [self._sessions[make] for make in graphs]


def _same(known: NDArray[Any], value: NDArray[Any]) -> bool:
    return np.may_share_memory(known, value) or np.array_equal(known, value)
