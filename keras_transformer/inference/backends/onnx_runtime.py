"""The rows of a version in ONNX Runtime."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from export.formats.onnx_scheduler_runtime import SchedulerOnnx
from keras_transformer.inference.backend import LogProbs, Tokens
from keras_transformer.inference.backends.slots import Slots
from keras_transformer.text.lengths import longest_answer


class OnnxRuntime:
    """Buffers for `slots` rows of the longest source there may be; what no row reaches stays untouched."""

    def __init__(
        self, directory: Path, precision: str, slots: int, start_id: int, max_length: int, threads: int = 1
    ) -> None:
        """`directory` holds the encoder and the decoder."""
        self.slots = slots
        self.start_id = start_id
        graphs = SchedulerOnnx(directory, precision, max_length=max_length, threads=threads)
        self._encoder = graphs.encoder
        self._rows = Slots(graphs.decoder, slots, max_length, min(longest_answer(max_length), max_length))

    def admit(self, sources: Sequence[Sequence[int]]) -> None:
        self._rows.admit(self._encoder.run(None, {"source": np.array(sources, np.int32)}), self.start_id)

    def step(self) -> tuple[Tokens, LogProbs]:
        return self._rows.step()

    def step_alone(self, row: int) -> tuple[int, float]:
        return self._rows.step_alone(row)

    def retire(self, row: int) -> None:
        self._rows.retire(row)
