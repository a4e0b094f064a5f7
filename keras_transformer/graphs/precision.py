"""The precisions of a graph: how it multiplies, and how it stores what attention reads again.

R rows, D width, N columns, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from keras_transformer.graphs.builder import FLOAT, Graph
from keras_transformer.graphs.network_weights import Array


class Products(Protocol):
    """A precision, as the networks use it."""

    suffix: str  # of the file's name, before .onnx

    def product(self, graph: Graph, name: str, x: str, kernel: Array, bias: Array | None = None) -> str:
        """x (R, D) -> (R, N) through kernel (D, N). A product has the same `name` in every precision."""
        ...

    def transposed(self, graph: Graph, name: str, x: str, table: str, bias: Array | None) -> str:
        """x (R, D) -> (R, V): a product with a table (V, D) that is in the graph already, and a bias (V,)."""
        ...

    def table(self, graph: Graph, name: str, rows: Array) -> str:
        """Add a table of rows (V, D), in the graph once under this name."""
        ...

    def values(self, graph: Graph, table: str, operator: str, *where: str) -> str:
        """Return rows of a table in float32, chosen by an operator, Gather or Slice."""
        ...

    cache_kind: int  # the type of cached keys and values

    def cached(self, graph: Graph, parts: str, names: Sequence[str]) -> str:
        """Return keys and values (2 L, ...) of these names in the type of the cache."""
        ...

    def scales(self, graph: Graph, names: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
        """Return inputs and attributes by which the attention operator reads a cached key and value."""
        ...


class Float32:
    """Products in float32, with the weights as they are."""

    suffix = ""
    cache_kind = FLOAT

    def product(self, graph: Graph, name: str, x: str, kernel: Array, bias: Array | None = None) -> str:
        weights = [graph.weight(f"{name}.kernel", kernel)]
        if bias is not None:
            weights.append(graph.weight(f"{name}.bias", bias))
        return str(graph.node("Gemm", x, *weights))

    def transposed(self, graph: Graph, name: str, x: str, table: str, bias: Array | None) -> str:
        product: str = graph.node("MatMul", x, graph.node("Transpose", table, perm=[1, 0]))
        return product if bias is None else graph.node("Add", product, graph.weight(f"{name}.bias", bias))

    def table(self, graph: Graph, name: str, rows: Array) -> str:
        return graph.weight(name, rows)

    def values(self, graph: Graph, table: str, operator: str, *where: str) -> str:
        return graph.node(operator, table, *where)

    def cached(self, graph: Graph, parts: str, names: Sequence[str]) -> str:
        return parts

    def scales(self, graph: Graph, names: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
        return [], {}
