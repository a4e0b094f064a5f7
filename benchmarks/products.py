"""The float32 matrix products of a batch of texts, and nothing else: a search takes longer.

They are those of the encoder and of the keys and values for the decoder, a row for each source token and none
for padding; and those of the decoder and of the logits in every step. Attention, normalization, activations,
the search and the tokenizer are left out.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import marian_directory
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Multiply = Callable[[Mapping[int, Array]], Any]  # takes the input of each width


def products(
    library: str, sizes: marian_directory.Sizes, vocabulary: int, source_tokens: int, rows: int, steps: int
) -> Callable[[], None]:
    """Return a call that computes the products of a batch.

    Args:
        library: A name of LIBRARIES.
        sizes: The sizes of the network.
        vocabulary: The number of logits.
        source_tokens: Tokens of all texts.
        rows: The number of texts.
        steps: The tokens of an answer.
    """
    width, inner = sizes.width, sizes.inner
    attention, feed_forward = [(width, 3 * width), (width, width)], [(width, inner), (inner, width)]
    encoder_block = [*attention, *feed_forward]
    attention_to_source = [(width, width)] * 2  # query and output
    decoder_block = [*attention, *attention_to_source, *feed_forward]
    decoder_layers = sizes.decoder_layers or sizes.layers
    rng = np.random.default_rng(0)

    def product(shapes: Sequence[tuple[int, int]], count: int) -> Callable[[], Any]:
        multiply = LIBRARIES[library]([rng.standard_normal(shape, np.float32) for shape in shapes])
        inputs = {size: rng.standard_normal((count, size), np.float32) for size in {width, inner}}
        return lambda: multiply(inputs)

    encode = product(encoder_block * sizes.layers + [(width, 2 * width)] * decoder_layers, source_tokens)
    step = product(decoder_block * decoder_layers + [(width, vocabulary)], rows)

    def batch() -> None:
        encode()
        for _ in range(steps):
            step()

    return batch


def _onnxruntime(weights: Sequence[Array]) -> Multiply:
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    widths = {len(weight) for weight in weights}
    nodes = [
        helper.make_node("MatMul", [f"x{len(weight)}", f"w{index}"], [f"y{index}"])
        for index, weight in enumerate(weights)
    ]
    inputs = [helper.make_tensor_value_info(f"x{size}", TensorProto.FLOAT, [None, size]) for size in widths]
    outputs = [
        helper.make_tensor_value_info(f"y{index}", TensorProto.FLOAT, [None, weight.shape[1]])
        for index, weight in enumerate(weights)
    ]
    stored = [numpy_helper.from_array(weight, f"w{index}") for index, weight in enumerate(weights)]
    graph = helper.make_graph(nodes, "products", inputs, outputs, stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return lambda inputs: session.run(None, {f"x{size}": inputs[size] for size in widths})


def _numpy(weights: Sequence[Array]) -> Multiply:
    return lambda inputs: [inputs[len(weight)] @ weight for weight in weights]


def _torch(weights: Sequence[Array]) -> Multiply:
    import torch

    torch.set_num_threads(1)
    tensors = [torch.from_numpy(weight) for weight in weights]

    def multiply(inputs: Mapping[int, Array]) -> Any:
        with torch.inference_mode():
            return [torch.mm(torch.from_numpy(inputs[len(weight)]), weight) for weight in tensors]

    return multiply


LIBRARIES = {"onnxruntime": _onnxruntime, "numpy": _numpy, "torch": _torch}
