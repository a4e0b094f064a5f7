"""The numbers in a graph of ONNX and its loops: each once, in the innermost graph that sees all its uses.

There ONNX Runtime lays a weight out for its products when it loads: two loops further in it does not look.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from onnx import GraphProto, TensorProto

from export.formats.tf2onnx_graphs.rewrites import inner_graphs, rename

Path: TypeAlias = tuple[GraphProto, ...]  # from the outermost graph to the one meant


def place_constants(graph: GraphProto, weights: Mapping[str, TensorProto]) -> None:
    """The constants of all graphs, and the weights, which were inputs of this one, each to its place."""
    constants = _taken_out(graph)
    rename(graph, _same(constants))
    places: dict[str, Path] = {}
    for name, path in _uses(graph, (graph,)):
        places[name] = _common(places.get(name, path), path)
    constants |= weights
    for name, path in places.items():
        if name in constants:
            path[-1].initializer.append(constants[name])


def _taken_out(graph: GraphProto) -> dict[str, TensorProto]:
    constants = {each.name: each for each in graph.initializer}
    del graph.initializer[:]
    for node in graph.node:
        for inner in inner_graphs(node):
            constants |= _taken_out(inner)
    return constants


def _same(constants: Mapping[str, TensorProto]) -> dict[str, str]:
    """The name of each -> the first name of the same numbers."""
    names = defaultdict(list)
    for name, each in constants.items():
        unnamed = TensorProto()
        unnamed.CopyFrom(each)
        unnamed.ClearField("name")
        names[unnamed.SerializeToString(deterministic=True)].append(name)
    return {name: alike[0] for alike in names.values() for name in alike}


def _uses(graph: GraphProto, path: Path) -> Iterator[tuple[str, Path]]:
    for each in graph.output:
        yield each.name, path
    for node in graph.node:
        for name in node.input:
            yield name, path
        for inner in inner_graphs(node):
            yield from _uses(inner, (*path, inner))


def _common(one: Path, other: Path) -> Path:
    return tuple(a for a, b in zip(one, other, strict=False) if a is b)
