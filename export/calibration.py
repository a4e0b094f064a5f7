"""Ranges of the values that a network multiplies, observed while it translates.

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

from keras_transformer.graphs.builder import Graph
from keras_transformer.graphs.int8 import HIGHEST, LOWEST, Observed, Range
from keras_transformer.graphs.transformer import decoder, encoder
from keras_transformer.inference.backend import Encoded, Step
from keras_transformer.inference.backends.onnx_runtime import OnnxBackend, part_name
from keras_transformer.inference.backends.session import open_session
from keras_transformer.inference.hosted_decoder import Decoder
from keras_transformer.models.translation import TranslationModel

ROWS = 8  # decoded together: the caches of more take memory

Ranges = dict[str, Range]


def observed_ranges(
    model: TranslationModel, rows: Sequence[Sequence[int]], start_id: int, end_id: int
) -> Ranges:
    """Return the range of each product, key and value over the greedy translations of source ids."""
    ranges: Ranges = defaultdict(Range)
    sessions = (_observed_session(make, model) for make in (encoder, decoder))
    make_backend = partial(_ObservedBackend, ranges, *sessions, start_id)
    Decoder(make_backend, end_id, model.network.max_length, slots=ROWS).search(rows)
    return dict(ranges)


def _observed_session(make: Callable[..., Graph], model: TranslationModel) -> Any:
    with TemporaryDirectory() as scratch:
        path = make(model, Observed()).write(Path(scratch))
        return open_session(path, session__disable_prepacking="1")  # no second copy of the weights


class _ObservedBackend(OnnxBackend):
    """Decodes with graphs of Observed products, and widens the ranges at each step."""

    def __init__(self, ranges: Ranges, encoder: Any, decoder: Any, *arguments: Any) -> None:
        self._ranges = ranges
        self._limits = {
            output.name: np.zeros((), np.float32)
            for output in decoder.get_outputs()
            if output.name.startswith((LOWEST, HIGHEST))
        }
        super().__init__(encoder, decoder, *arguments)

    def encode(self, sources: Sequence[Sequence[int]]) -> Encoded:
        names = [output.name for output in self._encoder.get_outputs()]
        values = self._encoder.run(names, {"source": np.array(sources, np.int32)})
        results = dict(zip(names, values, strict=True))
        self._widen_products(results)
        for part, memory in enumerate(results["memory"]):
            self._widen(f"memory_{part_name(part)}", memory)
        return [results["memory"], results["last"]]

    def step(self) -> Step:
        step = super().step()
        self._widen_products(self._limits)
        written = self._position[: self.rows].max()
        for part, cache in enumerate(self._caches["cache"]):
            self._widen(f"cache_{part_name(part)}", cache[: self.rows, :, :written])
        return step

    def _outputs(self, rows: slice) -> dict[str, NDArray[Any]]:
        return super()._outputs(rows) | self._limits

    def _widen_products(self, results: dict[str, Any]) -> None:
        for name, lowest in results.items():
            if name.startswith(LOWEST):
                product = name.removeprefix(LOWEST)
                self._widen(product, lowest, results[HIGHEST + product])

    def _widen(self, name: str, *values: Any) -> None:
        lowest, highest = (min(map(np.min, values)), max(map(np.max, values)))
        self._ranges[name] = self._ranges[name].with_values(float(lowest), float(highest))
