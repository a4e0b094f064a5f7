"""Placement of an ONNX graph's constants: each once, in the innermost graph with all its uses.

There ONNX Runtime prepares a weight for its products when it loads; it does not search two loops further out.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from onnx import GraphProto, TensorProto

from export.formats.tf2onnx_graphs.rewrites import inner_graphs, rename

Path: TypeAlias = tuple[GraphProto, ...]  # from the outermost graph to the one meant


def place_constants(graph: GraphProto, weights: Mapping[str, TensorProto]) -> None:
    """Move the constants of all graphs, and the weights, which were inputs, to the graphs that use them."""
    constants = _taken_out(graph)
    rename(graph, _same(constants))
    paths: dict[str, Path] = {}
    for name, path in _uses(graph, (graph,)):
        paths[name] = _common(paths.get(name, path), path)
    constants |= weights
    for name, path in paths.items():
        if name in constants:
            path[-1].initializer.append(constants[name])


def _taken_out(graph: GraphProto) -> dict[str, TensorProto]:
    constants = {constant.name: constant for constant in graph.initializer}
    del graph.initializer[:]
    for node in graph.node:
        for inner in inner_graphs(node):
            constants |= _taken_out(inner)
    return constants


def _same(constants: Mapping[str, TensorProto]) -> dict[str, str]:
    """Map the name of each constant to the first name with the same numbers."""
    names = defaultdict(list)
    for name, constant in constants.items():
        unnamed = TensorProto()
        unnamed.CopyFrom(constant)
        unnamed.ClearField("name")
        names[unnamed.SerializeToString(deterministic=True)].append(name)
    return {name: alike[0] for alike in names.values() for name in alike}


def _uses(graph: GraphProto, path: Path) -> Iterator[tuple[str, Path]]:
    for output in graph.output:
        yield output.name, path
    for node in graph.node:
        for name in node.input:
            yield name, path
        for inner in inner_graphs(node):
            yield from _uses(inner, (*path, inner))


def _common(one: Path, other: Path) -> Path:
    return tuple(a for a, b in zip(one, other, strict=False) if a is b)
