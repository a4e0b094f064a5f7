"""Between what limits the values lie that a network multiplies, seen while it translates.

B rows, S source length.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from keras_transformer.graphs.builder import Graph
from keras_transformer.graphs.int8 import HIGHEST, LOWEST, Observed, Range
from keras_transformer.graphs.transformer import WRITTEN, decoder, encoder
from keras_transformer.inference.backends.quiet import onnxruntime
from keras_transformer.inference.backends.slots import part_name
from keras_transformer.models.translation import TranslationModel
from keras_transformer.text.lengths import longest_answer

ROWS = 8  # at once: the caches of more take memory

Ranges = dict[str, Range]


def observed_ranges(
    model: TranslationModel, rows: Sequence[Sequence[int]], start_id: int, end_id: int
) -> Ranges:
    """The range of each product, key and value over the greedy translations of these rows of source ids."""
    ranges: Ranges = defaultdict(Range)
    encode = _Observer(encoder, model, ranges)
    memories = [encode({"source": np.array([row], np.int32)})["memory"][:, 0] for row in rows]
    for part in range(len(memories[0])):
        _widen(ranges, f"memory_{part_name(part)}", *(memory[part] for memory in memories))
    del encode  # large weights need not be in memory twice
    proceed = _Observer(decoder, model, ranges)
    for first in range(0, len(rows), ROWS):
        chosen = slice(first, first + ROWS)
        limits = [min(longest_answer(len(row)), model.network.max_length) for row in rows[chosen]]
        _translate(proceed, ranges, memories[chosen], np.array(limits), start_id, end_id)
    return dict(ranges)


def _translate(
    proceed: "_Observer", ranges: Ranges, memories: Sequence[Any], limits: Any, start_id: int, end_id: int
) -> None:
    inputs = _begun(memories, int(limits.max()), start_id)
    fixed = {
        f"{kind}_capacity": np.array(inputs[f"{kind}_key_0"].shape[2], np.int32)
        for kind in ("cache", "memory")
    }
    while len(limits):
        outputs = proceed({**inputs, **fixed})
        inputs |= {name.removesuffix(WRITTEN): outputs[name] for name in outputs if name.endswith(WRITTEN)}
        for part in range(len(memories[0])):
            _widen(ranges, f"cache_{part_name(part)}", inputs[f"cache_{part_name(part)}"])
        inputs |= {"token": outputs["next"], "position": inputs["position"] + 1}
        going = (inputs["token"][:, 0] != end_id) & (inputs["position"] < limits)
        inputs, limits = {name: values[going] for name, values in inputs.items()}, limits[going]


def _begun(memories: Sequence[Any], longest: int, start_id: int) -> dict[str, Any]:
    """What the decoder takes of each row: memories, each (2 L, H, S, K), side by side."""
    lengths = np.array([memory.shape[2] for memory in memories], np.int32)
    parts, heads, _, head = memories[0].shape
    padded = np.zeros((len(memories), parts, heads, lengths.max(), head), np.float32)
    for row, memory in enumerate(memories):
        padded[row, :, :, : memory.shape[2]] = memory
    last = np.stack([each[:, :, -1].reshape(len(each), 1, -1) for each in memories])
    inputs = {
        "token": np.full((len(memories), 1), start_id, np.int32),
        "position": np.zeros(len(memories), np.int32),
        "memory_position": lengths - 1,
    }
    for part in range(parts):
        side = part_name(part)
        inputs[f"memory_{side}"], inputs[f"last_{side}"] = padded[:, part], last[:, part]
        inputs[f"cache_{side}"] = np.zeros((len(memories), heads, max(2, longest), head), np.float32)
    return inputs


def _widen(ranges: Ranges, name: str, *values: Any) -> None:
    for each in values:
        ranges[name] = ranges[name].with_values(float(each.min()), float(each.max()))


class _Observer:
    """A graph of Observed products; it widens the ranges while it runs."""

    def __init__(self, make: Callable[..., Graph], model: TranslationModel, ranges: Ranges) -> None:
        self.ranges = ranges
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.disable_prepacking", "1")  # no second copy of the weights
        with TemporaryDirectory() as scratch:
            path = make(model, Observed()).write(Path(scratch))
            self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.names = [output.name for output in self.session.get_outputs()]

    def __call__(self, inputs: dict[str, Any]) -> dict[str, Any]:
        outputs = dict(zip(self.names, self.session.run(None, inputs), strict=True))
        for name in self.names:
            if name.startswith(LOWEST):
                product = name.removeprefix(LOWEST)
                seen = float(outputs[name]), float(outputs[HIGHEST + product])
                self.ranges[product] = self.ranges[product].with_values(*seen)
        return outputs
