"""How an exported graph multiplies in int8, and how the ranges for that are observed.

D width, N columns, V vocabulary.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_transformer.graphs.builder import FLOAT, INT8, MICROSOFT, Graph
from keras_transformer.graphs.network_weights import Array
from keras_transformer.graphs.precision import Float32

LOWEST, HIGHEST = "lowest of ", "highest of "  # begin the names of what is observed


class Observed(Float32):
    """Float32, and for each product two outputs that tell between what limits lay what it multiplied."""

    suffix = ".observed"

    def product(self, graph: Graph, name: str, x: str, kernel: Array, bias: Array | None = None) -> str:
        _observe(graph, name, x)
        return super().product(graph, name, x, kernel, bias)

    def transposed(self, graph: Graph, name: str, x: str, table: str) -> str:
        _observe(graph, name, x)
        return super().transposed(graph, name, x, table)


def _observe(graph: Graph, name: str, x: str) -> None:
    for prefix, operator in ((LOWEST, "ReduceMin"), (HIGHEST, "ReduceMax")):
        graph.output(prefix + name, graph.node(operator, x, keepdims=0), [])


class Range(NamedTuple):
    """The limits of values that are to be quantised; 0 is always inside, and always exact."""

    lowest: float = 0.0
    highest: float = 0.0

    def with_values(self, lowest: float, highest: float) -> "Range":
        """Wide enough for these, too."""
        return Range(min(self.lowest, lowest), max(self.highest, highest))

    def step(self) -> np.float32:
        """From one of the 256 levels to the next."""
        return np.float32((self.highest - self.lowest) / 255 or 1.0)

    def magnitude(self) -> float:
        """The furthest from 0."""
        return max(-self.lowest, self.highest) or 1.0

    def zero_point(self) -> np.uint8:
        """The level of 0."""
        return np.uint8(round(-self.lowest / float(self.step())))


class Int8:
    """Weights of 8 bits with a scale for each column; what they multiply has one range, chosen at export.

    So have the keys and the values that are kept: attention to many rows takes as long as reading them does.
    The range does not follow the batch: a row is quantised alike whatever stands beside it. The levels are
    unsigned, as signed ones are tens of times slower in ONNX Runtime.
    """

    suffix = ".int8"
    cache_kind = INT8

    def __init__(self, ranges: Mapping[str, Range]) -> None:
        """`ranges`: for each product what it was seen to multiply."""
        self.ranges = ranges

    def product(self, graph: Graph, name: str, x: str, kernel: Array, bias: Array | None = None) -> str:
        quantised, scales = _quantised(kernel.T)
        weight = graph.weight(f"{name}.kernel", np.ascontiguousarray(quantised.T))
        return self._product(graph, name, x, weight, graph.weight(f"{name}.scales", scales), bias)

    def transposed(self, graph: Graph, name: str, x: str, table: str) -> str:
        turned = graph.node("Transpose", table, perm=[1, 0])
        return self._product(graph, name, x, turned, f"{table}.scales", None)

    def table(self, graph: Graph, name: str, rows: Array) -> str:
        quantised, scales = _quantised(rows)
        graph.weight(f"{name}.scales", scales)
        return graph.weight(name, quantised)

    def values(self, graph: Graph, table: str, operator: str, *where: str) -> str:
        chosen = graph.node("Cast", graph.node(operator, table, *where), to=FLOAT)
        scales = graph.node(operator, f"{table}.scales", *where)
        return graph.node("Mul", chosen, graph.node("Unsqueeze", scales, graph.integers(-1)))

    def cached(self, graph: Graph, parts: str, names: Sequence[str]) -> str:
        magnitudes = [self.ranges[name].magnitude() / 127 for name in names]
        steps = graph.weight("cache_steps", np.array(magnitudes, np.float32))
        zeros = graph.weight("cache_zeros", np.zeros(len(names), np.int8))
        return str(graph.node("QuantizeLinear", parts, steps, zeros, axis=0))

    def scales(self, graph: Graph, names: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
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


def _quantised(rows: Array) -> tuple[NDArray[np.int8], Array]:
    """(N, D) -> the same in steps of a size of each row's own, and these sizes (N,)."""
    steps = np.maximum(np.abs(rows).max(axis=1), np.finfo(np.float32).tiny) / 127
    return np.round(rows / steps[:, None]).astype(np.int8), steps.astype(np.float32)
