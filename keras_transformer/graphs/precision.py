"""Precisions of a graph: the type of its products, and of the keys and values in its cache.

R rows, D width, N columns, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from keras_transformer.graphs.builder import FLOAT, Graph
from keras_transformer.graphs.network_weights import Array


class Products(Protocol):
    """Interface of a precision.

    Attributes:
        suffix: Part of the file's name before .onnx.
        cache_kind: ONNX type of cached keys and values.
    """

    suffix: str

    def product(self, graph: Graph, name: str, x: str, kernel: Array, bias: Array | None = None) -> str:
        """Multiply x (R, D) with a kernel (D, N) -> (R, N). `name` is the same in every precision."""
        ...

    def transposed(self, graph: Graph, name: str, x: str, table: str, bias: Array | None) -> str:
        """Multiply x (R, D) with a table (V, D) of the graph, transposed, and add a bias (V,) -> (R, V)."""
        ...

    def table(self, graph: Graph, name: str, rows: Array) -> str:
        """Add a table of rows (V, D) under this name, unless the graph has it."""
        ...

    def values(self, graph: Graph, table: str, operator: str, *where: str) -> str:
        """Return rows of a table in float32, chosen by an operator (Gather or Slice)."""
        ...

    cache_kind: int

    def cached(self, graph: Graph, parts: str, names: Sequence[str]) -> str:
        """Convert keys and values (2 L, ...) with these names to the type of the cache."""
        ...

    def scales(self, graph: Graph, names: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
        """Return the inputs and attributes with which the attention operator reads a cached key and value."""
        ...


class Float32:
    """Products in float32, with unchanged weights."""

    suffix = ""
    cache_kind = FLOAT

    def product(self, graph: Graph, name: str, x: str, kernel: Array, bias: Array | None = None) -> str:
        """Multiply x with a kernel."""
        weights = [graph.weight(f"{name}.kernel", kernel)]
        if bias is not None:
            weights.append(graph.weight(f"{name}.bias", bias))
        return str(graph.node("Gemm", x, *weights))

    def transposed(self, graph: Graph, name: str, x: str, table: str, bias: Array | None) -> str:
        """Multiply x with a transposed table."""
        product: str = graph.node("MatMul", x, graph.node("Transpose", table, perm=[1, 0]))
        return product if bias is None else graph.node("Add", product, graph.weight(f"{name}.bias", bias))

    def table(self, graph: Graph, name: str, rows: Array) -> str:
        """Add a table."""
        return graph.weight(name, rows)

    def values(self, graph: Graph, table: str, operator: str, *where: str) -> str:
        """Return rows of a table."""
        return graph.node(operator, table, *where)

    def cached(self, graph: Graph, parts: str, names: Sequence[str]) -> str:
        """Return keys and values unchanged."""
        return parts

    def scales(self, graph: Graph, names: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
        """Return no inputs and no attributes."""
        return [], {}
