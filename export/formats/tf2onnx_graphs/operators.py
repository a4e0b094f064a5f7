"""Handlers of TensorFlow operators that tf2onnx converts badly; each one gets its node."""

from collections.abc import Callable
from typing import Any

import numpy as np
from tf2onnx.onnx_opset.tensor import StridedSlice
from tf2onnx.utils import make_name


def _where(graph: Any, node: Any, *_: Any) -> None:
    """Convert to Where; tf2onnx would create products and sums."""
    node.type = "Where"


def _scores(graph: Any, node: Any, *_: Any) -> None:
    """Convert the einsum of the attention scores to MatMul, because runtimes are slow at Einsum."""
    equation = node.get_attr_value("equation").decode()
    if equation != "...ab,...cb->...ac":
        raise ValueError(f"...ab,...cb->...ac is the only equation that is converted; got {equation}.")
    node.type = "MatMul"
    node.attr.clear()
    last = len(graph.get_shape(node.input[1])) - 1
    turned = [*range(last - 1), last, last - 1]
    graph.insert_new_node_on_input(node, "Transpose", node.input[1], input_index=1, perm=turned)


def _erfc(graph: Any, node: Any, *_: Any) -> None:
    """Convert erfc, which gelu uses, to 1 - erf."""
    one = graph.make_const(make_name("one"), np.array(1, np.float32)).output[0]
    erf = graph.make_node("Erf", [node.input[0]], shapes=node.output_shapes, dtypes=node.output_dtypes)
    _instead(graph, node, "Sub", [one, erf.output[0]], node.output_shapes[0])


def _slice(graph: Any, node: Any, *_: Any) -> None:
    """Convert number[None], whose shape tf2onnx does not know, and leave all other slices to tf2onnx."""
    if graph.get_shape(node.input[0]) != []:
        StridedSlice.version_13(graph, node)
        return
    axis = graph.make_const(make_name("axis"), np.array([0], np.int64)).output[0]
    _instead(graph, node, "Unsqueeze", [node.input[0], axis], [1])


def _written(graph: Any, node: Any, *_: Any) -> None:
    """Convert padding of a cache and writing into the padded position to one concatenation."""
    room, new, _ = node.inputs
    if room.type != "Pad":
        raise ValueError(f"only a cache that was given room by Pad can be written; got one from {room.type}.")
    written, shape = node.output[0], graph.get_shape(room.output[0])
    _instead(graph, node, "Concat", [room.input[0], new.output[0]], shape, axis=2)
    graph.replace_all_inputs(room.output[0], written)  # nodes that read the cache's length use it too


def _instead(graph: Any, node: Any, operator: str, inputs: list[str], shape: Any, **attributes: Any) -> None:
    output, dtype = node.output[0], graph.get_dtype(node.output[0])
    graph.remove_node(node.name)
    graph.make_node(operator, inputs, attr=attributes, outputs=[output], shapes=[shape], dtypes=[dtype])


HANDLERS: dict[str, Callable[..., None]] = {
    "SelectV2": _where,
    "Einsum": _scores,
    "Erfc": _erfc,
    "StridedSlice": _slice,
    "XlaDynamicUpdateSlice": _written,
}
