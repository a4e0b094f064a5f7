"""Matrix products in int8, and the observation of activation ranges for them.

D width, N columns, V vocabulary.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_transformer.graphs.builder import FLOAT, INT8, MICROSOFT, Graph
from keras_transformer.graphs.network_weights import Array
from keras_transformer.graphs.precision import Float32

LOWEST, HIGHEST = "lowest of ", "highest of "  # before the names of observed products


class Observed(Float32):
    """Products in float32 with two more outputs each: minimum and maximum of the multiplied values."""

    suffix = ".observed"

    def product(self, graph: Graph, name: str, x: str, kernel: Array, bias: Array | None = None) -> str:
        """Multiply x with a kernel, and output the range of x."""
        _observe(graph, name, x)
        return super().product(graph, name, x, kernel, bias)

    def transposed(self, graph: Graph, name: str, x: str, table: str, bias: Array | None) -> str:
        """Multiply x with a transposed table, and output the range of x."""
        _observe(graph, name, x)
        return super().transposed(graph, name, x, table, bias)


def _observe(graph: Graph, name: str, x: str) -> None:
    for prefix, operator in ((LOWEST, "ReduceMin"), (HIGHEST, "ReduceMax")):
        graph.output(prefix + name, graph.node(operator, x, keepdims=0), [])


class Range(NamedTuple):
    """Range of values to quantize; it contains 0, which is represented exactly."""

    lowest: float = 0.0
    highest: float = 0.0

    def with_values(self, lowest: float, highest: float) -> "Range":
        """Return a range that contains these values too."""
        return Range(min(self.lowest, lowest), max(self.highest, highest))

    def step(self) -> np.float32:
        """Return the distance between two neighbours of the 256 levels."""
        return np.float32((self.highest - self.lowest) / 255 or 1.0)

    def magnitude(self) -> float:
        """Return the largest distance from 0."""
        return max(-self.lowest, self.highest) or 1.0

    def zero_point(self) -> np.uint8:
        """Return the level of 0."""
        return np.uint8(round(-self.lowest / float(self.step())))


class Int8:
    """Products in int8: weights with a scale per column, activations with one fixed range.

    Cached keys and values are int8 too, because attention to many rows is limited by reading them. A range
    does not depend on the batch: a row is quantized the same way whatever rows are beside it. The levels of
    activations are unsigned: ONNX Runtime is tens of times slower with signed ones.

    Args:
        ranges: The observed range of each product, key and value.
    """

    suffix = ".int8"
    cache_kind = INT8

    def __init__(self, ranges: Mapping[str, Range]) -> None:
        self.ranges = ranges

    def product(self, graph: Graph, name: str, x: str, kernel: Array, bias: Array | None = None) -> str:
        """Multiply x with a kernel (D, N) in int8."""
        quantized, scales = _quantized(kernel.T)
        weight = graph.weight(f"{name}.kernel", np.ascontiguousarray(quantized.T))
        return self._product(graph, name, x, weight, graph.weight(f"{name}.scales", scales), bias)

    def transposed(self, graph: Graph, name: str, x: str, table: str, bias: Array | None) -> str:
        """Multiply x with a transposed table in int8."""
        turned = graph.node("Transpose", table, perm=[1, 0])
        return self._product(graph, name, x, turned, f"{table}.scales", bias)

    def table(self, graph: Graph, name: str, rows: Array) -> str:
        """Add a table in int8, with a scale for each row."""
        quantized, scales = _quantized(rows)
        graph.weight(f"{name}.scales", scales)
        return graph.weight(name, quantized)

    def values(self, graph: Graph, table: str, operator: str, *where: str) -> str:
        """Return rows of a table, dequantized."""
        chosen = graph.node("Cast", graph.node(operator, table, *where), to=FLOAT)
        scales = graph.node(operator, f"{table}.scales", *where)
        return graph.node("Mul", chosen, graph.node("Unsqueeze", scales, graph.integers(-1)))

    def cached(self, graph: Graph, parts: str, names: Sequence[str]) -> str:
        """Quantize keys and values for the cache."""
        magnitudes = [self.ranges[name].magnitude() / 127 for name in names]
        steps = graph.weight("cache_steps", np.array(magnitudes, np.float32))
        zeros = graph.weight("cache_zeros", np.zeros(len(names), np.int8))
        return str(graph.node("QuantizeLinear", parts, steps, zeros, axis=0))

    def scales(self, graph: Graph, names: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
        """Return the inputs and attributes with which the attention operator dequantizes the cache."""
        steps = [
            graph.weight(f"{name}.step", np.array([self.ranges[name].magnitude() / 127], np.float32))
            for name in names
        ]
        kinds = {"k_quant_type": "PER_TENSOR", "v_quant_type": "PER_TENSOR", "kv_cache_bit_width": 8}
        return ["", "", "", "", "", *steps], kinds

    def _product(self, graph: Graph, name: str, x: str, weight: str, scales: str, bias: Array | None) -> str:
        step = graph.weight(f"{name}.step", self.ranges[name].step())
        zero = graph.weight(f"{name}.zero", self.ranges[name].zero_point())
        return graph.node(
            "MatMulIntegerToFloat",
            graph.node("QuantizeLinear", x, step, zero),
            weight, step, scales, zero, "",
            "" if bias is None else graph.weight(f"{name}.bias", bias),
            domain=MICROSOFT,
        )  # fmt: skip


def _quantized(rows: Array) -> tuple[NDArray[np.int8], Array]:
    """Quantize rows (N, D) to int8 levels (N, D) with a step for each row (N,)."""
    steps = np.maximum(np.abs(rows).max(axis=1), np.finfo(np.float32).tiny) / 127
    return np.round(rows / steps[:, None]).astype(np.int8), steps.astype(np.float32)
