"""ONNX graphs of a recurrent encoder and decoder, for a scheduler that decodes many sentences at once.

The encoder takes sentences of equal length. Its results are the state of the decoder, which each step
replaces, and what every step reads: with attention the memory, its keys and a mask, otherwise one context.
All of them have the sentence as axis 1. Rows of zeros behind a memory are hidden, because their mask is 0.

B rows, S source length, D width, U units, N layers of the decoder, V vocabulary.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from keras_transformer.graphs.builder import FLOAT, INT32, Graph, Shape
from keras_transformer.graphs.choice import add_choice, whole_blocks
from keras_transformer.graphs.network_weights import Array
from keras_transformer.graphs.precision import Products

EMBEDDING = "embedding"
MASKED_SCORE = 1e30  # subtracted from the scores of hidden positions


@dataclass(frozen=True)
class RecurrentWeights:
    """Sizes of a recurrent network, and its weights by name.

    D width, U units, V ids of a side, I width of what a layer reads, N the index of a layer:

        source_embedding/embeddings, target_embedding/embeddings   (V, D), one table if both sides share it
        encoder_N/{forward,backward}/kernel                        (I, 3 U / 2)
        encoder_N/{forward,backward}/recurrent_kernel              (U / 2, 3 U / 2)
        encoder_N/{forward,backward}/bias                          (2, 3 U / 2)
        decoder_N/{kernel,recurrent_kernel,bias}                   the same for U
        bridge_N/{kernel,bias}                                     (U, U), (U,)
        attention/query/kernel                                     (U, U), with attention alone
        attention/key/{kernel,bias}                                (U, U), (U,)
        attention/scale                                            (U,)
        output/{kernel,bias}                                       (2 U, D), (D,)

    Args:
        encoder_layers: Number of encoder layers.
        decoder_layers: Number of decoder layers.
        width: Width of the embeddings.
        units: Width of the states.
        attention: Whether the decoder attends to the states of the encoder.
        target_vocabulary: Number of target ids.
        arrays: Weights in float32.
    """

    encoder_layers: int
    decoder_layers: int
    width: int
    units: int
    attention: bool
    target_vocabulary: int
    arrays: Mapping[str, Array]


def encoder(network: RecurrentWeights, products: Products) -> Graph:
    """Build the encoder: source (B, S) -> state (1, B, N U), and what every step reads.

    With attention that is memory (1, B, S, U), keys (1, B, S, U) and mask (1, B, S, 1), without it context
    (1, B, 1, U).
    """
    graph, units = Graph("encoder"), network.units
    writer = _Writer(graph, products, network.arrays)
    source = graph.input("source", ["batch", "source"], INT32)
    x = writer.embedded("source_embedding", source, network.width)
    x, last = graph.node("Transpose", x, perm=[1, 0, 2]), ""
    for index in range(network.encoder_layers):
        x, last = writer.both_directions(f"encoder_{index}", x, units)
    summary = graph.node("Transpose", last, perm=[1, 0, 2])  # (2, B, U / 2) -> (B, 2, U / 2)
    summary = graph.node("Reshape", summary, graph.integers(-1, units))
    bridges = [writer.dense(f"bridge_{index}", summary, "Tanh") for index in range(network.decoder_layers)]
    outputs: dict[str, tuple[str, Shape]] = {
        "state": (graph.node("Concat", *bridges, axis=1), [network.decoder_layers * units])
    }
    if network.attention:
        memory = graph.node("Transpose", x, perm=[1, 0, 2])
        keys = graph.node("MatMul", memory, writer.weight("attention/key/kernel"))
        keys = graph.node("Add", keys, writer.weight("attention/key/bias"))
        real = graph.node("Cast", graph.node("Unsqueeze", source, graph.integers(2)), to=FLOAT)
        outputs["memory"] = memory, ["source", units]
        outputs["keys"] = keys, ["source", units]
        outputs["mask"] = graph.node("Sign", real), ["source", 1]
    else:
        outputs["context"] = graph.node("Unsqueeze", summary, graph.integers(1)), [1, units]
    for name, (value, sizes) in outputs.items():
        graph.output(name, graph.node("Unsqueeze", value, graph.integers(0)), [1, "batch", *sizes])
    return graph


def decoder(network: RecurrentWeights, products: Products) -> Graph:
    """Build the decoder: token (B, 1), state (B, N U) -> next and its logit (B, 1), logits (B, W).

    W is the vocabulary in whole blocks. The output state_written (B, N U) is the next state. The other inputs
    are the encoder's results without their first axis.
    """
    graph, layers, units = Graph("decoder"), network.decoder_layers, network.units
    writer = _Writer(graph, products, network.arrays)
    token = graph.input("token", ["batch", 1], INT32)
    state = graph.input("state", ["batch", layers * units])
    states = [
        graph.node("Slice", state, *map(graph.integers, (index * units, (index + 1) * units, 1)))
        for index in range(layers)
    ]
    ids = graph.node("Reshape", token, graph.integers(-1))
    x = writer.embedded("target_embedding", ids, network.width, whole=True)
    if network.attention:
        x = states[0] = writer.step("decoder_0", x, states[0], units)
        context = _attended(writer, x, units)
    else:
        context = graph.input("context", ["batch", 1, units])
        context = graph.node("Reshape", context, graph.integers(-1, units))
        x = states[0] = writer.step("decoder_0", writer.beside(x, context), states[0], units)
    for index in range(1, layers):
        x = states[index] = writer.step(f"decoder_{index}", writer.beside(x, context), states[index], units)
    x = writer.dense("output", writer.beside(x, context), "Tanh")
    logits = products.transposed(graph, "logits", x, EMBEDDING, None)
    add_choice(graph, logits, network.target_vocabulary)
    graph.output("state_written", graph.node("Concat", *states, axis=1), ["batch", layers * units])
    return graph


def _attended(writer: "_Writer", x: str, units: int) -> str:
    """Look up the context (B, U) of a state (B, U) in the memory."""
    graph = writer.graph
    memory, keys = (graph.input(name, ["batch", "source", units]) for name in ("memory", "keys"))
    mask = graph.input("mask", ["batch", "source", 1])
    query = graph.node("MatMul", x, writer.weight("attention/query/kernel"))
    query = graph.node("Unsqueeze", query, graph.integers(1))
    scale = graph.weight("attention/scale", writer.arrays["attention/scale"][:, None])
    scores = graph.node("MatMul", graph.node("Tanh", graph.node("Add", query, keys)), scale)
    one, masked = (graph.weight(f"value {value}", np.float32(value)) for value in (1, MASKED_SCORE))
    hidden = graph.node("Mul", graph.node("Sub", one, mask), masked)
    weights = graph.node("Softmax", graph.node("Sub", scores, hidden), axis=1)
    weights = graph.node("Transpose", weights, perm=[0, 2, 1])
    return str(graph.node("Reshape", graph.node("MatMul", weights, memory), graph.integers(-1, units)))


class _Writer:
    """Nodes of the layers, whose weights have the names in RecurrentWeights."""

    def __init__(self, graph: Graph, products: Products, arrays: Mapping[str, Array]) -> None:
        self.graph, self.products, self.arrays = graph, products, arrays

    def weight(self, name: str) -> str:
        """Add a weight under its own name."""
        return self.graph.weight(name, self.arrays[name])

    def embedded(self, name: str, ids: str, width: int, whole: bool = False) -> str:
        """Look up the scaled vectors of ids; with `whole`, in a table that is searched in blocks too."""
        rows = self.arrays[f"{name}/embeddings"]
        self.products.table(self.graph, EMBEDDING, whole_blocks(rows) if whole else rows)
        scale = self.graph.weight("scale", np.float32(width**0.5))
        return str(self.graph.node("Mul", self.products.values(self.graph, EMBEDDING, "Gather", ids), scale))

    def dense(self, name: str, x: str, activation: str) -> str:
        """Apply a dense layer with an activation: (B, I) -> (B, N)."""
        kernel, bias = (self.arrays[f"{name}/{part}"] for part in ("kernel", "bias"))
        return str(self.graph.node(activation, self.products.product(self.graph, name, x, kernel, bias)))

    def beside(self, x: str, context: str) -> str:
        """Put two vectors beside each other."""
        return str(self.graph.node("Concat", x, context, axis=1))

    def both_directions(self, name: str, x: str, units: int) -> tuple[str, str]:
        """Read vectors (S, B, I) in both directions -> states (S, B, U), the last ones (2, B, U / 2)."""
        sides = [f"{name}/{side}" for side in ("forward", "backward")]
        states, last = self._recurrent(name, sides, x, "", units // 2)
        states = self.graph.node("Transpose", states, perm=[0, 2, 1, 3])  # (S, 2, B, U / 2)
        return self.graph.node("Reshape", states, self.graph.integers(0, 0, units)), last

    def step(self, name: str, x: str, state: str, units: int) -> str:
        """Read one vector (B, I) -> the next state (B, U)."""
        first = self.graph.integers(0)
        x, state = (self.graph.node("Unsqueeze", value, first) for value in (x, state))
        _, last = self._recurrent(name, [name], x, state, units)
        return str(self.graph.node("Squeeze", last, first))

    def _recurrent(self, name: str, sides: list[str], x: str, state: str, units: int) -> list[str]:
        """Add a GRU of one or two directions, whose gates have the same order in Keras and in ONNX."""
        parts = {
            "kernel": [self.arrays[f"{side}/kernel"].T for side in sides],
            "recurrent_kernel": [self.arrays[f"{side}/recurrent_kernel"].T for side in sides],
            "bias": [self.arrays[f"{side}/bias"].reshape(-1) for side in sides],
        }
        weights = [self.graph.weight(f"{name}/{part}", np.stack(values)) for part, values in parts.items()]
        found: list[str] = self.graph.node(
            "GRU", x, *weights, "", state, outputs=2, hidden_size=units, linear_before_reset=1,
            direction="forward" if len(sides) == 1 else "bidirectional",
        )  # fmt: skip
        return found
