"""A graph of ONNX nodes, written down in the order in which they run."""

from collections import Counter
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

INT32, FLOAT = TensorProto.INT32, TensorProto.FLOAT
MICROSOFT = "com.microsoft"  # ONNX Runtime's own operators
OPSETS = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
IR_VERSION = 10

Shape = list[str | int]


class Graph:
    """Inputs, weights, nodes and outputs; a value is known by its name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._weights: dict[str, Any] = {}
        self._nodes: list[Any] = []
        self._made: Counter[str] = Counter()

    def input(self, name: str, shape: Shape, kind: int = FLOAT) -> str:
        """What the caller gives; a size that is a text is free."""
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, value: str, shape: Shape, kind: int = FLOAT) -> None:
        """Give `value` to the caller under this name."""
        self._nodes.append(helper.make_node("Identity", [value], [name], name=name))
        self._outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def weight(self, name: str, value: NDArray[Any] | np.generic) -> str:
        """A constant; one name is one constant."""
        if name not in self._weights:
            self._weights[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def node(self, operator: str, *inputs: str, domain: str = "", outputs: int = 1, **attributes: Any) -> Any:
        """The name of what it gives, or a list of them. An input that is left out is ""."""
        self._made[operator] += 1
        stem = f"{operator}_{self._made[operator]}"
        names = [stem] if outputs == 1 else [f"{stem}_{place}" for place in range(outputs)]
        self._nodes.append(
            helper.make_node(operator, list(inputs), names, name=stem, domain=domain, **attributes)
        )
        return names[0] if outputs == 1 else names

    def model(self) -> bytes:
        """The whole, checked."""
        graph = helper.make_graph(
            self._nodes, self.name, self._inputs, self._outputs, list(self._weights.values())
        )
        model = helper.make_model(
            graph, opset_imports=OPSETS, ir_version=IR_VERSION, producer_name="keras_transformer"
        )
        onnx.checker.check_model(model)
        return bytes(model.SerializeToString())
