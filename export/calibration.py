"""Between what limits the values lie that a network multiplies, seen while it translates.

B rows, S source length.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import onnxruntime

from export.products import HIGHEST, LOWEST, Observed, Range
from export.scheduler_onnx import decoder, encoder
from keras_transformer.decoding.lengths import longest_answer
from keras_transformer.models.translation import TranslationModel

Ranges = dict[str, Range]


def observed_ranges(
    model: TranslationModel, rows: Iterable[Sequence[int]], start_id: int, end_id: int
) -> Ranges:
    """The range of each product over the greedy translations of these rows of source ids."""
    ranges: Ranges = defaultdict(Range)
    encode, proceed = (_Observer(graph(model, Observed()), ranges) for graph in (encoder, decoder))
    for row in rows:
        memory = encode({"source": np.array([row], np.int32)})["memory"]
        length = min(longest_answer(len(row)), model.network.max_length)
        _translate(proceed, memory, length, start_id, end_id)
    return dict(ranges)


class _Observer:
    """A graph of Observed products; it widens the ranges while it runs."""

    def __init__(self, graph: Any, ranges: Ranges) -> None:
        self.ranges = ranges
        self.session = onnxruntime.InferenceSession(graph.model(), providers=["CPUExecutionProvider"])
        self.names = [output.name for output in self.session.get_outputs()]

    def __call__(self, inputs: dict[str, Any]) -> dict[str, Any]:
        outputs = dict(zip(self.names, self.session.run(None, inputs), strict=True))
        for name in self.names:
            if name.startswith(LOWEST):
                product = name.removeprefix(LOWEST)
                seen = float(outputs[name]), float(outputs[HIGHEST + product])
                self.ranges[product] = self.ranges[product].with_values(*seen)
        return outputs


def _translate(proceed: _Observer, memory: Any, length: int, start_id: int, end_id: int) -> None:
    parts, _, heads, source, head = memory.shape
    sides = [f"{side}_{layer}" for layer in range(parts // 2) for side in ("key", "value")]
    caches = {f"cache_{side}": np.zeros((1, heads, max(2, length), head), np.float32) for side in sides}
    fixed = {
        "cache_capacity": np.array(max(2, length), np.int32),
        "memory_capacity": np.array(source, np.int32),
        "memory_position": np.array([source - 1], np.int32),
        "scored": np.zeros(0, np.int32),
    }
    for side, part in zip(sides, memory, strict=True):
        fixed[f"memory_{side}"] = part
        fixed[f"last_{side}"] = part[:, :, -1].reshape(1, 1, -1)
    token = np.array([[start_id]], np.int32)
    for position in range(length):
        outputs = proceed({**fixed, **caches, "token": token, "position": np.array([position], np.int32)})
        token = outputs["next"]
        caches = {name: outputs[f"{name}_written"] for name in caches}
        if token[0, 0] == end_id:
            break
