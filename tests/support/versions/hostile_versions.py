"""Version directories whose checksums fit and whose content is hostile."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.support.versions.damages import changed, summed_again

INT32_MIN = -(2**31)
ENCODER, DECODER, ATTENTION = "onnx/encoder.onnx", "onnx/decoder.onnx", "onnx/attention.onnx"


def _with_nodes(version: Path, file: str, nodes: list[onnx.NodeProto], **constants: np.ndarray) -> None:
    """Insert nodes between an input of ids and its readers: they read it and write `hostile`."""
    model = onnx.load(version / file)
    ids = "token" if file == DECODER else "source"
    for node in model.graph.node:
        node.input[:] = ["hostile" if name == ids else name for name in node.input]
    for name, value in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(value, name))
    for node in reversed(nodes):
        model.graph.node.insert(0, node)
    onnx.save(model, version / file)
    summed_again(version, file)


def divides(file: str = ENCODER) -> Callable[[Path], None]:
    """A graph that computes -2**31 / -1 in int32: the processor raises SIGFPE."""
    nodes = [
        helper.make_node("Mul", ["source", "zero"], ["zeros"]),
        helper.make_node("Add", ["zeros", "minus_one"], ["divisor"]),
        helper.make_node("Div", ["lowest", "divisor"], ["quotient"]),
        helper.make_node("Mul", ["quotient", "zero"], ["nothing"]),
        helper.make_node("Add", ["source", "nothing"], ["hostile"]),
    ]
    zero, minus_one, lowest = (np.array(value, np.int32) for value in (0, -1, INT32_MIN))
    return lambda version: _with_nodes(version, file, nodes, zero=zero, minus_one=minus_one, lowest=lowest)


def loops(version: Path) -> None:
    """A graph with a Loop that has no end."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go_on"], ["go_on_again"]),
            helper.make_node("Identity", ["carried"], ["carried_again"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("turn", TensorProto.INT64, []),
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("carried", TensorProto.INT32, None),
        ],
        [
            helper.make_tensor_value_info("go_on_again", TensorProto.BOOL, []),
            helper.make_tensor_value_info("carried_again", TensorProto.INT32, None),
        ],
    )
    node = helper.make_node("Loop", ["", "always", "source"], ["hostile"], body=body)
    _with_nodes(version, ENCODER, [node], always=np.array(True))


def fills_memory(version: Path) -> None:
    """A graph that doubles what it holds at each turn of a Loop, 64 MiB at first."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go_on"], ["go_on_again"]),
            helper.make_node("Concat", ["carried", "carried"], ["carried_again"], axis=0),
        ],
        "body",
        [
            helper.make_tensor_value_info("turn", TensorProto.INT64, []),
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("carried", TensorProto.INT32, None),
        ],
        [
            helper.make_tensor_value_info("go_on_again", TensorProto.BOOL, []),
            helper.make_tensor_value_info("carried_again", TensorProto.INT32, None),
        ],
    )
    one = numpy_helper.from_array(np.array([1], np.int32))
    nodes = [
        helper.make_node("ConstantOfShape", ["size"], ["begin"], value=one),
        helper.make_node("Loop", ["", "always", "begin"], ["ones"], body=body),
        helper.make_node("ReduceMin", ["ones"], ["least"], keepdims=0),
        helper.make_node("Mul", ["source", "least"], ["hostile"]),
    ]
    _with_nodes(version, ENCODER, nodes, always=np.array(True), size=np.array([2**24]))


def manifest_is_a_pipe(version: Path) -> None:
    (version / "manifest.json").unlink()
    os.mkfifo(version / "manifest.json")


def manifest_is_endless(version: Path) -> None:
    (version / "manifest.json").unlink()
    (version / "manifest.json").symlink_to("/dev/zero")


def with_a_huge_number(version: Path) -> None:
    changed("lengths", "longest", to=2**32)(version)


def divides_rows(rows: int) -> Callable[[Path], None]:
    """A decoder that does so where so many rows are decoded together."""
    nodes = [
        helper.make_node("Shape", ["token"], ["shape"], end=1),
        helper.make_node("Equal", ["shape", "rows"], ["hit"]),
        helper.make_node("Where", ["hit", "minus_one", "one"], ["divisor"]),
        helper.make_node("Div", ["lowest", "divisor"], ["quotient"]),
        helper.make_node("Mul", ["quotient", "zero"], ["nothing"]),
        helper.make_node("Add", ["token", "nothing"], ["hostile"]),
    ]
    values = {"zero": 0, "one": 1, "minus_one": -1, "lowest": INT32_MIN}
    constants = {name: np.array(value, np.int32) for name, value in values.items()}
    return lambda version: _with_nodes(version, DECODER, nodes, rows=np.array([rows]), **constants)
