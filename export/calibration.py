"""Calibration for int8: observe the ranges of the values that a network multiplies while it translates.

B rows, S source length.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_transformer.files import write_pieces
from keras_transformer.graphs.builder import Graph
from keras_transformer.graphs.int8 import HIGHEST, LOWEST, Observed, Range
from keras_transformer.graphs.transformer import decoder, encoder
from keras_transformer.inference.backend import Encoded, StepResult
from keras_transformer.inference.backends.onnx_runtime import OnnxBackend, part_name
from keras_transformer.inference.backends.session import open_session
from keras_transformer.inference.hosted_decoder import Decoder
from keras_transformer.models.translation import TranslationModel
from keras_transformer.models.weights import network_weights

ROWS = 8  # rows decoded together; more would need more memory for caches


class Ranges(defaultdict[str, Range]):
    """Observed range of each product, key and value so far."""

    def __init__(self) -> None:
        super().__init__(Range)

    def encode(self, session: Any, row: Sequence[int]) -> Encoded:
        """Encode one source, and observe the ranges of the encoder's products."""
        names = [output.name for output in session.get_outputs()]
        values = session.run(names, {"source": np.array([row], np.int32)})
        results = dict(zip(names, values, strict=True))
        self.widen_products(results)
        for part, memory in enumerate(results["memory"]):
            self.widen(f"memory_{part_name(part)}", memory)
        return [results["memory"]]

    def widen_products(self, results: dict[str, Any]) -> None:
        """Widen the ranges of all products by the limits in the outputs of an observed graph."""
        for name, lowest in results.items():
            if name.startswith(LOWEST):
                product = name.removeprefix(LOWEST)
                self.widen(product, lowest, results[HIGHEST + product])

    def widen(self, name: str, *values: Any) -> None:
        """Widen a range to contain these values."""
        lowest, highest = min(map(np.min, values)), max(map(np.max, values))
        self[name] = self[name].with_values(float(lowest), float(highest))


def observed_ranges(
    model: TranslationModel, rows: Sequence[Sequence[int]], start_id: int, end_id: int
) -> dict[str, Range]:
    """Observe the range of each product, key and value during greedy translation of source ids."""
    ranges = Ranges()
    encode = _observed_session(encoder, model)
    encoded = {tuple(row): ranges.encode(encode, row) for row in rows}
    del encode  # to hold large weights only once
    make_backend = partial(_ObservedBackend, ranges, encoded, _observed_session(decoder, model), start_id)
    network = model.network
    Decoder(
        make_backend, end_id, network.max_length, slots=ROWS, limit=network.answer_limit, scores=False
    ).search(rows)
    return dict(ranges)


def _observed_session(make: Callable[..., Graph], model: TranslationModel) -> Any:
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "observed.onnx"
        write_pieces(path, make(network_weights(model), Observed()).pieces())
        return open_session(path, session__disable_prepacking="1")  # no second copy of the weights


class _ObservedBackend(OnnxBackend):
    """Backend with a graph of Observed products that widens the ranges at each step."""

    def __init__(
        self, ranges: Ranges, encoded: dict[tuple[int, ...], Encoded], decoder: Any, *arguments: Any
    ) -> None:
        self._ranges, self._encoded = ranges, encoded
        self._limits = {
            output.name: np.zeros((), np.float32)
            for output in decoder.get_outputs()
            if output.name.startswith((LOWEST, HIGHEST))
        }
        super().__init__(None, decoder, None, None, *arguments)

    def encode(self, sources: Sequence[Sequence[int]]) -> Encoded:
        encoded = (self._encoded[tuple(source)] for source in sources)
        return [np.concatenate(parts, axis=1) for parts in zip(*encoded, strict=True)]

    def step(self) -> StepResult:
        step = super().step()
        self._ranges.widen_products(self._limits)
        written = self._position[: self.rows].max()
        for part, cache in enumerate(self._cache):
            self._ranges.widen(f"cache_{part_name(part)}", cache[: self.rows, :, :written])
        return step

    def step_alone(self, row: int) -> StepResult:
        raise RuntimeError("calibration failed: see the error before this one.")

    def _outputs(self, rows: slice) -> dict[str, NDArray[Any]]:
        return super()._outputs(rows) | self._limits
