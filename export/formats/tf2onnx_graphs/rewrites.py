"""Rewriting of tf2onnx's graphs with half the nodes, which halves ONNX Runtime's time for few rows.

A pattern is a tree such as ("Add", ("Mul", "x", "scale"), "shift"): operators, and names for their inputs. A
name that occurs twice is the same value.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from onnx import AttributeProto, GraphProto, NodeProto, helper, numpy_helper

Pattern: TypeAlias = "str | tuple[Any, ...]"
Values = dict[str, str]
Makers = dict[str, NodeProto]

EITHER_WAY = {"Add", "Mul"}

_CENTRED = ("Sub", "x", ("ReduceMean", "x", "mean axes"))
_VARIANCE = ("ReduceMean", ("Mul", _CENTRED, _CENTRED), "variance axes")
_NORMAL = ("Mul", _CENTRED, ("Reciprocal", ("Sqrt", ("Add", _VARIANCE, "epsilon"))))
NORMALIZATION = ("Add", ("Mul", _NORMAL, "scale"), "shift")

_LEADING = ("Gather", ("Cast", ("Shape", "x")), "leading")
_ROWS = ("Reshape", "x", "rows")
PROJECTION = ("Reshape", ("MatMul", _ROWS, "weight"), ("Cast", ("Concat", _LEADING, "width")))

_FROM_BEHIND = ("Less", ("Cast", "index"), "zero")
LOOK_UP = ("Gather", "table", ("Where", _FROM_BEHIND, ("Add", "index", "size"), "index"))


def simplify(graph: GraphProto) -> None:
    """Replace patterns of nodes with fewer nodes that compute the same, in a graph and in its loops."""
    for node in graph.node:
        for inner in inner_graphs(node):
            simplify(inner)
            if node.op_type == "Loop":
                _take_from_outside(graph, node, inner)
    constants = {item.name: item for item in graph.initializer}

    def numbers(name: str) -> list[Any]:
        return numpy_helper.to_array(constants[name]).ravel().tolist() if name in constants else []

    def normalization(values: Values) -> NodeProto | None:
        epsilon = numbers(values["epsilon"])
        if not epsilon or numbers(values["mean axes"]) != [-1] or numbers(values["variance axes"]) != [-1]:
            return None
        inputs = [values["x"], values["scale"], values["shift"]]
        return helper.make_node("LayerNormalization", inputs, [], epsilon=epsilon[0])

    def projection(values: Values) -> NodeProto | None:
        leading = numbers(values["leading"])
        if not leading or leading != list(range(len(leading))) or len(numbers(values["rows"])) != 2:
            return None
        return helper.make_node("MatMul", [values["x"], values["weight"]], [])

    def look_up(values: Values) -> NodeProto | None:
        # a negative index counts from the end in ONNX too
        return helper.make_node("Gather", [values["table"], values["index"]], [])

    _replace(graph, NORMALIZATION, normalization)
    _replace(graph, PROJECTION, projection)
    _replace(graph, LOOK_UP, look_up)
    _drop_unused(graph)


def inner_graphs(node: NodeProto) -> Iterator[GraphProto]:
    """Return the bodies of a loop."""
    return (item.g for item in node.attribute if item.type == AttributeProto.GRAPH)


def rename(graph: GraphProto, names: dict[str, str]) -> None:
    """Rename values everywhere they are created or used."""
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        for inner in inner_graphs(node):
            rename(inner, names)
    for item in (*graph.input, *graph.output, *graph.initializer):
        item.name = names.get(item.name, item.name)


def _take_from_outside(graph: GraphProto, loop: NodeProto, body: GraphProto) -> None:
    """Remove values from a loop that it does not change: its body can read them from the outer graph."""
    makers = _makers(body)

    def origin(name: str) -> str:
        while name in makers and makers[name].op_type == "Identity":
            name = makers[name].input[0]
        return name

    first_in, first_out = 2, 1  # index of a body's own values, after the count and the condition
    unchanged = [
        index
        for index in range(len(loop.input) - first_in)
        if origin(body.output[first_out + index].name) == body.input[first_in + index].name
    ]
    rename(body, {body.input[first_in + index].name: loop.input[first_in + index] for index in unchanged})
    rename(graph, {loop.output[index]: loop.input[first_in + index] for index in unchanged})
    for index in reversed(unchanged):
        del loop.input[first_in + index], loop.output[index]
        del body.input[first_in + index], body.output[first_out + index]
    _drop_unused(body)


def _replace(graph: GraphProto, pattern: Pattern, make: Callable[[Values], NodeProto | None]) -> None:
    makers, nodes = _makers(graph), []
    for node in graph.node:
        values = _match(pattern, node.output[0], makers, {})
        new = None if values is None else make(values)
        if new is not None:
            new.output.append(node.output[0])
        nodes.append(new or node)
    _keep(graph, nodes)


def _match(pattern: Pattern, value: str, makers: Makers, values: Values) -> Values | None:
    """Return the values by the names of a pattern, or None if `value` is computed in another way."""
    if isinstance(pattern, str):
        return {**values, pattern: value} if values.get(pattern, value) == value else None
    operator, *arguments = pattern
    node = makers.get(value)
    if node is None or node.op_type != operator or len(node.input) != len(arguments):
        return None
    for order in (list(node.input), list(reversed(node.input)))[: 2 if operator in EITHER_WAY else 1]:
        match: Values | None = values
        for argument, actual in zip(arguments, order, strict=True):
            match = None if match is None else _match(argument, actual, makers, match)
        if match is not None:
            return match
    return None


def _makers(graph: GraphProto) -> Makers:
    return {name: node for node in graph.node for name in node.output}


def _drop_unused(graph: GraphProto) -> None:
    needed, nodes = {item.name for item in graph.output}, []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            needed |= set(used(node))
            nodes.append(node)
    _keep(graph, nodes[::-1])
    for item in [item for item in graph.initializer if item.name not in needed]:
        graph.initializer.remove(item)


def used(node: NodeProto) -> Iterator[str]:
    """Yield the values that a node and its inner graphs read."""
    yield from node.input
    for inner in inner_graphs(node):
        yield from (item.name for item in inner.output)
        for item in inner.node:
            yield from used(item)


def _keep(graph: GraphProto, nodes: list[NodeProto]) -> None:
    before = len(graph.node)
    graph.node.extend(nodes)
    del graph.node[:before]
