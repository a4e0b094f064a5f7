"""How a graph multiplies: in float32, as the model does, or as an export has it.

R rows, D width, N columns, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from keras_transformer.graphs.builder import FLOAT, Graph
from keras_transformer.graphs.network_weights import Array


class Products(Protocol):
    """What the networks need of a precision."""

    suffix: str  # of the file's name, before .onnx

    def product(self, graph: Graph, name: str, x: str, kernel: Array, bias: Array | None = None) -> str:
        """x (R, D) -> (R, N) through kernel (D, N). `name` is that of the product in any precision."""
        ...

    def transposed(self, graph: Graph, name: str, x: str, table: str) -> str:
        """x (R, D) -> (R, V): a product with a table (V, D) that is in the graph already."""
        ...

    def table(self, graph: Graph, name: str, rows: Array) -> str:
        """Rows (V, D) to be chosen from, in the graph once under this name."""
        ...

    def values(self, graph: Graph, table: str, operator: str, *where: str) -> str:
        """The rows of a table that the operator chooses, Gather or Slice, in float32."""
        ...

    cache_kind: int  # of the keys and values that attention keeps

    def cached(self, graph: Graph, parts: str, names: Sequence[str]) -> str:
        """Keys and values (2 L, ...) of these names as they are kept."""
        ...

    def scales(self, graph: Graph, names: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
        """What the attention operator must be told of a key and a value that are kept: inputs, attributes."""
        ...


class Float32:
    """The weights as they are."""

    suffix = ""
    cache_kind = FLOAT

    def product(self, graph: Graph, name: str, x: str, kernel: Array, bias: Array | None = None) -> str:
        weights = [graph.weight(f"{name}.kernel", kernel)]
        if bias is not None:
            weights.append(graph.weight(f"{name}.bias", bias))
        return str(graph.node("Gemm", x, *weights))

    def transposed(self, graph: Graph, name: str, x: str, table: str) -> str:
        return graph.node("MatMul", x, graph.node("Transpose", table, perm=[1, 0]))

    def table(self, graph: Graph, name: str, rows: Array) -> str:
        return graph.weight(name, rows)

    def values(self, graph: Graph, table: str, operator: str, *where: str) -> str:
        return graph.node(operator, table, *where)

    def cached(self, graph: Graph, parts: str, names: Sequence[str]) -> str:
        return parts

    def scales(self, graph: Graph, names: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
        return [], {}
