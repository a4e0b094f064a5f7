"""Builder of ONNX graphs, whose nodes run in the order in which they are added."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from keras_transformer.graphs.onnx_file import onnx_pieces

INT8, INT32, INT64, FLOAT = TensorProto.INT8, TensorProto.INT32, TensorProto.INT64, TensorProto.FLOAT
MICROSOFT = "com.microsoft"  # ONNX Runtime's own operators
OPSETS = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
IR_VERSION = 10

Shape = list[str | int]


class Graph:
    """ONNX graph of inputs, weights, nodes and outputs, each identified by its name.

    The weights are stored separately until the file is written, so that large ones exist only once.

    Args:
        name: Name of the graph.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._file = onnx.ModelProto(
            ir_version=IR_VERSION, opset_import=OPSETS, producer_name="keras_transformer"
        )
        self._file.graph.name = name
        self._weights: dict[str, NDArray[Any] | np.generic] = {}
        self._made: Counter[str] = Counter()

    def input(self, name: str, shape: Shape, kind: int = FLOAT) -> str:
        """Add an input, and return its name. A dimension that is a string is dynamic."""
        self._file.graph.input.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, value: str, shape: Shape, kind: int = FLOAT) -> None:
        """Make `value`, the output of a node, an output of the graph, and rename it to `name`."""
        for node in self._file.graph.node:
            for values in (node.input, node.output):
                values[:] = [name if item == value else item for item in values]
        self._file.graph.output.append(helper.make_tensor_value_info(name, kind, shape))

    def weight(self, name: str, value: NDArray[Any] | np.generic) -> str:
        """Add a constant, and return its name. A name that exists already keeps its value."""
        if name not in self._weights:
            self._weights[name] = value
        return name

    def integers(self, *values: int) -> str:
        """Add a constant (N,), and return its name, which follows from its values."""
        return self.weight(f"integers {values}", np.array(values))

    def node(self, operator: str, *inputs: str, domain: str = "", outputs: int = 1, **attributes: Any) -> Any:
        """Add a node, and return the name of its output, or a list of the names of its outputs.

        Args:
            operator: Name of the operator.
            *inputs: Names of the inputs; "" omits an optional one.
            domain: Domain of the operator; "" is ONNX itself.
            outputs: Number of outputs.
            **attributes: Attributes of the node.
        """
        self._made[operator] += 1
        name = f"{operator}_{self._made[operator]}"
        names = [name] if outputs == 1 else [f"{name}_{index}" for index in range(outputs)]
        self._file.graph.node.append(
            helper.make_node(operator, inputs, names, name=name, domain=domain, **attributes)
        )
        return name if outputs == 1 else names

    def pieces(self) -> Iterator[bytes]:
        """Check the graph, and return the pieces of its .onnx file."""
        return onnx_pieces(self._checked(), self._weights)

    def __bytes__(self) -> bytes:
        return b"".join(self.pieces())

    def _checked(self) -> onnx.ModelProto:
        """Check the model, and return it without the values of its weights."""
        kinds = {name: helper.np_dtype_to_tensor_dtype(value.dtype) for name, value in self._weights.items()}
        checked = onnx.ModelProto()
        checked.CopyFrom(self._file)
        for name, value in self._weights.items():  # declared as inputs, so that the checker copies no values
            checked.graph.input.append(helper.make_tensor_value_info(name, kinds[name], value.shape))
        onnx.checker.check_model(checked)
        written = onnx.ModelProto()
        written.CopyFrom(self._file)
        for name, value in self._weights.items():
            written.graph.initializer.add(name=name, dims=value.shape, data_type=kinds[name])
        return written
