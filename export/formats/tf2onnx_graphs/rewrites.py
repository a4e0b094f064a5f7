"""What tf2onnx writes, said with half the nodes: few rows take ONNX Runtime half the time then.

A pattern is a tree, ("Add", ("Mul", "x", "scale"), "shift"): operators, and names for what they are given.
A name that comes twice is the same value.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from onnx import AttributeProto, GraphProto, NodeProto, helper, numpy_helper

Pattern: TypeAlias = "str | tuple[Any, ...]"
Found = dict[str, str]
Makers = dict[str, NodeProto]

EITHER_WAY = {"Add", "Mul"}

_CENTRED = ("Sub", "x", ("ReduceMean", "x", "mean axes"))
_VARIANCE = ("ReduceMean", ("Mul", _CENTRED, _CENTRED), "variance axes")
_NORMAL = ("Mul", _CENTRED, ("Reciprocal", ("Sqrt", ("Add", _VARIANCE, "epsilon"))))
NORMALISATION = ("Add", ("Mul", _NORMAL, "scale"), "shift")

_LEADING = ("Gather", ("Cast", ("Shape", "x")), "leading")
_ROWS = ("Reshape", "x", "rows")
PROJECTION = ("Reshape", ("MatMul", _ROWS, "weight"), ("Cast", ("Concat", _LEADING, "width")))

_FROM_BEHIND = ("Less", ("Cast", "index"), "zero")
LOOK_UP = ("Gather", "table", ("Where", _FROM_BEHIND, ("Add", "index", "size"), "index"))


def simplify(graph: GraphProto) -> None:
    """The same numbers with fewer nodes, in this graph and in those of its loops."""
    for node in graph.node:
        for inner in inner_graphs(node):
            simplify(inner)
            if node.op_type == "Loop":
                _take_from_outside(graph, node, inner)
    constants = {each.name: each for each in graph.initializer}

    def numbers(name: str) -> list[Any]:
        return numpy_helper.to_array(constants[name]).ravel().tolist() if name in constants else []

    def normalisation(found: Found) -> NodeProto | None:
        epsilon = numbers(found["epsilon"])
        if not epsilon or numbers(found["mean axes"]) != [-1] or numbers(found["variance axes"]) != [-1]:
            return None
        inputs = [found["x"], found["scale"], found["shift"]]
        return helper.make_node("LayerNormalization", inputs, [], epsilon=epsilon[0])

    def projection(found: Found) -> NodeProto | None:
        leading = numbers(found["leading"])
        if not leading or leading != list(range(len(leading))) or len(numbers(found["rows"])) != 2:
            return None
        return helper.make_node("MatMul", [found["x"], found["weight"]], [])

    def look_up(found: Found) -> NodeProto | None:
        # ONNX too counts a negative index from behind
        return helper.make_node("Gather", [found["table"], found["index"]], [])

    _replace(graph, NORMALISATION, normalisation)
    _replace(graph, PROJECTION, projection)
    _replace(graph, LOOK_UP, look_up)
    _drop_unused(graph)


def inner_graphs(node: NodeProto) -> Iterator[GraphProto]:
    """The body of a loop."""
    return (each.g for each in node.attribute if each.type == AttributeProto.GRAPH)


def rename(graph: GraphProto, names: dict[str, str]) -> None:
    """Values, wherever they are made or used."""
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        for inner in inner_graphs(node):
            rename(inner, names)
    for each in (*graph.input, *graph.output, *graph.initializer):
        each.name = names.get(each.name, each.name)


def _take_from_outside(graph: GraphProto, loop: NodeProto, body: GraphProto) -> None:
    """What a loop hands on unchanged need not go round in it: its body sees what is outside."""
    makers = _makers(body)

    def origin(name: str) -> str:
        while name in makers and makers[name].op_type == "Identity":
            name = makers[name].input[0]
        return name

    first_in, first_out = 2, 1  # of a body's own values: behind the count and the condition
    unchanged = [
        place
        for place in range(len(loop.input) - first_in)
        if origin(body.output[first_out + place].name) == body.input[first_in + place].name
    ]
    rename(body, {body.input[first_in + place].name: loop.input[first_in + place] for place in unchanged})
    rename(graph, {loop.output[place]: loop.input[first_in + place] for place in unchanged})
    for place in reversed(unchanged):
        del loop.input[first_in + place], loop.output[place]
        del body.input[first_in + place], body.output[first_out + place]
    _drop_unused(body)


def _replace(graph: GraphProto, pattern: Pattern, instead: Callable[[Found], NodeProto | None]) -> None:
    makers, nodes = _makers(graph), []
    for node in graph.node:
        found = _match(pattern, node.output[0], makers, {})
        new = None if found is None else instead(found)
        if new is not None:
            new.output.append(node.output[0])
        nodes.append(new or node)
    _keep(graph, nodes)


def _match(pattern: Pattern, value: str, makers: Makers, found: Found) -> Found | None:
    """The names of a pattern, if this value is made like it."""
    if isinstance(pattern, str):
        return {**found, pattern: value} if found.get(pattern, value) == value else None
    operator, *arguments = pattern
    node = makers.get(value)
    if node is None or node.op_type != operator or len(node.input) != len(arguments):
        return None
    for order in (list(node.input), list(reversed(node.input)))[: 2 if operator in EITHER_WAY else 1]:
        match: Found | None = found
        for argument, given in zip(arguments, order, strict=True):
            match = None if match is None else _match(argument, given, makers, match)
        if match is not None:
            return match
    return None


def _makers(graph: GraphProto) -> Makers:
    return {name: node for node in graph.node for name in node.output}


def _drop_unused(graph: GraphProto) -> None:
    needed, nodes = {each.name for each in graph.output}, []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            needed |= set(used(node))
            nodes.append(node)
    _keep(graph, nodes[::-1])
    for each in [each for each in graph.initializer if each.name not in needed]:
        graph.initializer.remove(each)


def used(node: NodeProto) -> Iterator[str]:
    """The values that a node reads, in its inner graphs too."""
    yield from node.input
    for inner in inner_graphs(node):
        yield from (each.name for each in inner.output)
        for each in inner.node:
            yield from used(each)


def _keep(graph: GraphProto, nodes: list[NodeProto]) -> None:
    before = len(graph.node)
    graph.node.extend(nodes)
    del graph.node[:before]
