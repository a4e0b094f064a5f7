"""Conversion of a Keras model's function to ONNX: trace in TensorFlow, convert, simplify.

The weights are inputs during the conversion and are added last, so that no step copies, folds or transposes
them.
"""

import gc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf
from onnx import GraphProto, ModelProto, TensorProto, ValueInfoProto, checker, helper
from tf2onnx import tf_loader, tfonnx
from tf2onnx.optimizer.const_fold_optimizer import ConstFoldOptimizer
from tf2onnx.optimizer.identity_optimizer import IdentityOptimizer
from tf2onnx.optimizer.merge_duplicated_nodes_optimizer import MergeDuplicatedNodesOptimizer
from tf2onnx.optimizer.reshape_optimizer import ReshapeOptimizer

from export.formats.tf2onnx_graphs.constants import place_constants
from export.formats.tf2onnx_graphs.operators import HANDLERS
from export.formats.tf2onnx_graphs.rewrites import simplify
from keras_transformer import __version__
from keras_transformer.files import write_pieces
from keras_transformer.graphs.onnx_file import onnx_pieces
from keras_transformer.models.encoder_decoder import PAD_ID
from keras_transformer.models.translation import TranslationModel

FLOAT = TensorProto.FLOAT
OPSET, IR_VERSION = 18, 8  # the highest opset that tf2onnx writes, and what goes with it

#: In this order; in a second round only the first two find something, and in a third none does.
_OPTIMIZERS = (
    ConstFoldOptimizer,
    MergeDuplicatedNodesOptimizer,
    ReshapeOptimizer,
    IdentityOptimizer,
    ConstFoldOptimizer,
    MergeDuplicatedNodesOptimizer,
)


class Value(NamedTuple):
    """Input or output of a graph; a dimension that is a string is dynamic."""

    name: str
    dtype: Any
    shape: tuple[str | int, ...]

    def spec(self) -> Any:
        """Return it as a tf.TensorSpec."""
        return tf.TensorSpec([size if isinstance(size, int) else None for size in self.shape], self.dtype)

    def info(self) -> ValueInfoProto:
        """Return it as an ONNX ValueInfoProto."""
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype.as_numpy_dtype))
        return helper.make_tensor_value_info(self.name, kind, self.shape)


class Converted(NamedTuple):
    """ONNX model without the values of its weights."""

    file: ModelProto
    weights: dict[str, keras.Variable]  # values of the constants with these names

    def write(self, path: Path) -> None:
        """Write the file atomically."""
        write_pieces(path, onnx_pieces(self.file, self.weights))


def from_tensorflow(
    model: TranslationModel,
    name: str,
    function: Callable[..., Sequence[Any]],
    inputs: Sequence[Value],
    outputs: Sequence[Value],
) -> Converted:
    """Convert a function that calls the model to a graph of standard operators.

    The file's metadata has the ids of padding, start and end, and the largest number of tokens of a row.

    Args:
        model: The model.
        name: Name of the graph.
        function: Function of the inputs that returns the outputs.
        inputs: Inputs of the graph.
        outputs: Outputs of the graph.
    """
    weights = {weight.path.removeprefix(f"{model.name}/"): weight for weight in model.weights}
    graph = _converted(function, inputs, [value.name for value in outputs], weights)
    gc.collect()  # TensorFlow's graphs are large, and refer to themselves
    simplify(graph)
    file = helper.make_model(
        GraphProto(name=name, node=graph.node, initializer=graph.initializer),
        producer_name="keras_transformer",
        producer_version=__version__,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    helper.set_model_props(file, _about(model))
    known = [Value(name, tf.float32, tuple(weight.shape)) for name, weight in weights.items()]
    file.graph.input.extend(value.info() for value in [*inputs, *known])
    file.graph.output.extend(value.info() for value in outputs)
    checker.check_model(file)  # while the weights are inputs, and it is small
    del file.graph.input[len(inputs) :]
    constants = (TensorProto(name=value.name, data_type=FLOAT, dims=value.shape) for value in known)
    place_constants(file.graph, {value.name: value for value in constants})
    return Converted(file, weights)


def start_and_end(model: TranslationModel) -> tuple[int, int]:
    """Return the ids of start and end: the tokenizer's, or without a tokenizer this project's defaults."""
    return (2, 3) if model.tokenizer is None else (model.tokenizer.bos_id, model.tokenizer.eos_id)


def _about(model: TranslationModel) -> dict[str, str]:
    names = ("pad_id", "start_id", "end_id", "max_length")
    numbers = (PAD_ID, *start_and_end(model), model.network.max_length)
    return dict(zip(names, map(str, numbers), strict=True))


def _converted(
    function: Callable[..., Sequence[Any]],
    inputs: Sequence[Value],
    outputs: Sequence[str],
    weights: dict[str, keras.Variable],
) -> GraphProto:
    """Convert with tf2onnx, with the weights as inputs. Operators that it cannot convert raise an error."""

    def traced(*arguments: Any) -> Sequence[Any]:
        known = zip(weights.values(), arguments[len(inputs) :], strict=True)
        values = [(weight, tf.ensure_shape(value, weight.shape)) for weight, value in known]
        with keras.StatelessScope(state_mapping=values):
            return function(*arguments[: len(inputs)])

    # without shapes: for an input of known shape, TensorFlow would create zeros to try the graph
    unshaped = [tf.TensorSpec([None] * len(weight.shape), tf.float32) for weight in weights.values()]
    signature = [*(value.spec() for value in inputs), *unshaped]
    concrete = tf.function(traced, input_signature=signature, autograph=False).get_concrete_function()
    input_names = [value.name for value in concrete.inputs]
    output_names = [value.name for value in concrete.outputs]
    frozen = tf_loader.from_function(concrete, input_names, output_names)
    names = [*(value.name for value in inputs), *weights, *outputs]
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(frozen, name="")
        converted = tfonnx.process_tf_graph(
            graph,
            opset=OPSET,
            custom_op_handlers={operator: (handler, []) for operator, handler in HANDLERS.items()},
            input_names=input_names,
            output_names=output_names,
            tensors_to_rename=dict(zip([*input_names, *output_names], names, strict=True)),
        )
    tf_loader.clear_functions()  # the bodies of loops, which are copied to `converted`
    for optimizer in _OPTIMIZERS:
        converted = optimizer().optimize(converted, iteration=0)
    return converted.make_graph("")
