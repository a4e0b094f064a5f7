"""A graph of ONNX nodes, written down in the order in which they run."""

from collections import Counter
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

INT8, INT32, FLOAT = TensorProto.INT8, TensorProto.INT32, TensorProto.FLOAT
MICROSOFT = "com.microsoft"  # ONNX Runtime's own operators
OPSETS = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
IR_VERSION = 10

Shape = list[str | int]


class Graph:
    """Inputs, weights, nodes and outputs; a value is known by its name.

    What is added goes straight into the file's own structure: of large weights there is one copy.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._file = onnx.ModelProto(
            ir_version=IR_VERSION, opset_import=OPSETS, producer_name="keras_transformer"
        )
        self._file.graph.name = name
        self._weights: set[str] = set()
        self._made: Counter[str] = Counter()

    def input(self, name: str, shape: Shape, kind: int = FLOAT) -> str:
        """What the caller gives; a size that is a text is free."""
        self._file.graph.input.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, value: str, shape: Shape, kind: int = FLOAT) -> None:
        """Give `value` to the caller under this name."""
        self._file.graph.node.append(helper.make_node("Identity", [value], [name], name=name))
        self._file.graph.output.append(helper.make_tensor_value_info(name, kind, shape))

    def weight(self, name: str, value: NDArray[Any] | np.generic) -> str:
        """A constant; one name is one constant."""
        if name not in self._weights:
            self._weights.add(name)
            self._file.graph.initializer.add(
                name=name,
                dims=value.shape,
                data_type=helper.np_dtype_to_tensor_dtype(value.dtype),
                raw_data=value.tobytes(),
            )
        return name

    def integers(self, *values: int) -> str:
        """A constant (N,), known by what it is."""
        return self.weight(f"integers {values}", np.array(values))

    def node(self, operator: str, *inputs: str, domain: str = "", outputs: int = 1, **attributes: Any) -> Any:
        """The name of what it gives, or a list of them. An input that is left out is ""."""
        self._made[operator] += 1
        name = f"{operator}_{self._made[operator]}"
        names = [name] if outputs == 1 else [f"{name}_{place}" for place in range(outputs)]
        self._file.graph.node.append(
            helper.make_node(operator, inputs, names, name=name, domain=domain, **attributes)
        )
        return name if outputs == 1 else names

    def file(self) -> bytes:
        """What an .onnx file holds, checked."""
        content: bytes = self._file.SerializeToString()
        onnx.checker.check_model(content)
        return content
