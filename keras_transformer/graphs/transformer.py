"""ONNX graphs of encoder and decoder for a scheduler that decodes many sentences at once.

The encoder takes sentences of equal length: without padding, a row cannot depend on other rows. It returns
the keys and values for the decoder's cross-attention. The decoder takes one token of each row, each row at
its own position, and writes its caches in place: bind the input and the output of a cache to the same buffer.
The graphs use ONNX Runtime's own attention operators.

B rows, S source length, D width, H heads, K width of a head, L layers of the decoder, V vocabulary, W logits:
V in whole blocks, R rows of a matrix.
"""

from collections.abc import Callable, Mapping

import numpy as np

from keras_transformer.graphs.builder import INT32, MICROSOFT, Graph, Shape
from keras_transformer.graphs.choice import add_choice, whole_blocks
from keras_transformer.graphs.network_weights import Array, NetworkWeights
from keras_transformer.graphs.precision import Products

ACTIVATIONS = ("relu", "gelu", "silu")
EMBEDDING, POSITIONS, OUTPUT = "embedding", "positions", "output"
WRITTEN = "_written"  # suffix of the name of a cache as an output

#: The names of products in a graph, and in the ranges of its calibration.
_PRODUCTS = {
    "self_attention/query_key_value": "query_key_value",
    "self_attention/output": "output",
    "cross_attention/query": "query",
    "cross_attention/output": "memory_output",
    "feed_forward/inner": "inner",
    "feed_forward/outer": "outer",
}
_NORMS = "translation_model"  # prefix of the names of normalization weights in a graph


def refusal(activation: str, width: int, *num_heads: int) -> str | None:
    """Return the reason why such a network has no graphs, or None if it has them."""
    if activation not in ACTIVATIONS:
        return (
            f"the ONNX graphs have the activations {', '.join(ACTIVATIONS)}; this network has {activation!r}."
        )
    for heads in num_heads:
        if width // heads % 8:
            return (
                f"ONNX Runtime's attention takes heads whose width is a multiple of 8; got {width} / {heads} "
                f"= {width // heads}. Train with another number of heads, or export other formats."
            )
    return None


def encoder(network: NetworkWeights, products: Products) -> Graph:
    """Build the encoder: source (B, S) -> memory (2 L, B, H, S, K), the decoder layers' keys and values."""
    graph, heads, width, arrays = Graph("encoder"), network.num_heads, network.width, network.arrays
    source = graph.input("source", ["batch", "source"], INT32)
    positions = products.table(graph, POSITIONS, arrays["positions/table"])
    length = graph.node("Shape", source, start=1, end=2)
    vectors = products.values(graph, positions, "Slice", graph.integers(0), length, graph.integers(0))
    products.table(graph, EMBEDDING, arrays["source_embedding/embeddings"])
    x = _embedded(graph, products, network, source, vectors)
    sides = graph.node("Shape", source)
    sentences, tokens = graph.node("Concat", sides, graph.integers(-1), axis=0), graph.integers(-1, width)

    def attention(index: int, x: str) -> str:
        x = stack.dense(index, "self_attention/query_key_value", x)
        parts = graph.node("Split", graph.node("Reshape", x, sentences), outputs=3, axis=2, num_outputs=3)
        x = graph.node("MultiHeadAttention", *parts, domain=MICROSOFT, num_heads=heads)
        return stack.dense(index, "self_attention/output", graph.node("Reshape", x, tokens))

    stack = _Stack(graph, products, network, "encoder", graph.node("Reshape", x, tokens))
    for index in range(network.encoder_layers):
        stack.through(index, "self_attention_norm", attention)
        stack.through(index, "feed_forward_norm", stack.feed_forward)
    projections = [
        f"decoder/block_{index}/cross_attention/key_value" for index in range(network.decoder_layers)
    ]
    kernel = np.concatenate([arrays[f"{name}/kernel"] for name in projections], axis=1)
    bias = np.concatenate([arrays[f"{name}/bias"] for name in projections])
    x = products.product(graph, "memory", stack.leave(), kernel, bias)
    parts, memory_heads = 2 * network.decoder_layers, network.decoder_heads
    head = width // memory_heads
    shape = graph.node("Concat", sides, graph.integers(parts, memory_heads, head), axis=0)
    by_position = graph.node("Reshape", x, shape)
    by_part = graph.node("Transpose", by_position, perm=[2, 0, 3, 1, 4])
    names = [name for index in range(network.decoder_layers) for name in _cache_names("memory", index)]
    memory = products.cached(graph, by_part, names)
    graph.output("memory", memory, [parts, "batch", memory_heads, "source", head], products.cache_kind)
    return graph


def decoder(network: NetworkWeights, products: Products) -> Graph:
    """Build the decoder: token (B, 1) at position (B,) -> next (B, 1), its logit (B, 1), logits (B, W).

    The inputs of the caches are {cache,memory}_{key,value}_LAYER; the outputs are one position longer and
    have the suffix _written. Attention to the memory uses the same operator as attention to the cache; it
    gets no new key and value, and memory_position (B,) is the position of the last source token.
    """
    graph, heads, width, arrays = Graph("decoder"), network.decoder_heads, network.width, network.arrays
    token = graph.input("token", ["batch", 1], INT32)
    position = graph.input("position", ["batch"], INT32)
    memory_position = graph.input("memory_position", ["batch"], INT32)
    capacities = {kind: graph.input(f"{kind}_capacity", [], INT32) for kind in ("cache", "memory")}
    written: dict[str, tuple[str, Shape]] = {}

    def attend(kind: str, index: int, position: str, *parts: str) -> str:
        shape: Shape = ["batch", heads, f"{kind}_capacity", width // heads]
        names = _cache_names(kind, index)
        past = [graph.input(name, shape, products.cache_kind) for name in names]
        scales, kinds = products.scales(graph, names)
        attended, *present = graph.node(
            "GroupQueryAttention", *parts, *past, position, capacities[kind], *scales,
            domain=MICROSOFT, outputs=3, num_heads=heads, kv_num_heads=heads, **kinds,
        )  # fmt: skip
        written.update((name + WRITTEN, (value, shape)) for name, value in zip(names, present, strict=True))
        return str(graph.node("Reshape", attended, graph.integers(0, -1)))

    def one_token(x: str) -> str:
        """(B, D) -> (B, 1, D)."""
        return str(graph.node("Reshape", x, graph.integers(0, 1, -1)))

    def self_attention(index: int, x: str) -> str:
        x = stack.dense(index, "self_attention/query_key_value", x)
        x = attend("cache", index, position, one_token(x), "", "")
        return stack.dense(index, "self_attention/output", x)

    def cross_attention(index: int, x: str) -> str:
        query = one_token(stack.dense(index, "cross_attention/query", x))
        nothing = graph.node("Slice", query, *map(graph.integers, (0, 0, 1)))  # (B, 0, D)
        x = attend("memory", index, memory_position, query, nothing, nothing)
        return stack.dense(index, "cross_attention/output", x)

    positions = products.table(graph, POSITIONS, arrays["positions/table"])
    vectors = products.values(graph, positions, "Gather", position)
    products.table(graph, EMBEDDING, whole_blocks(arrays["target_embedding/embeddings"]))
    ids = graph.node("Reshape", token, graph.integers(-1))
    stack = _Stack(graph, products, network, "decoder", _embedded(graph, products, network, ids, vectors))
    for index in range(network.decoder_layers):
        stack.through(index, "self_attention_norm", self_attention)
        stack.through(index, "cross_attention_norm", cross_attention)
        stack.through(index, "feed_forward_norm", stack.feed_forward)
    logits = _logits(graph, products, arrays, stack.leave())
    add_choice(graph, logits, network.target_vocabulary)
    for name, (value, shape) in written.items():
        graph.output(name, value, shape, products.cache_kind)
    return graph


def _logits(graph: Graph, products: Products, arrays: Mapping[str, Array], x: str) -> str:
    """Project (B, D) to logits (B, W)."""
    table = EMBEDDING
    if f"{OUTPUT}/embeddings" in arrays:
        table = OUTPUT
        products.table(graph, OUTPUT, whole_blocks(arrays[f"{OUTPUT}/embeddings"]))
    bias = whole_blocks(arrays[f"{OUTPUT}/bias"]) if f"{OUTPUT}/bias" in arrays else None
    return products.transposed(graph, "logits", x, table, bias)


def _cache_names(kind: str, index: int) -> list[str]:
    return [f"{kind}_{side}_{index}" for side in ("key", "value")]


class _Stack:
    """Residual stream x (R, D) through a stack of blocks, whose weights have the names in NetworkWeights.

    Additions and normalizations are separate nodes: fused, they take eight times as long in ONNX Runtime.
    """

    def __init__(self, graph: Graph, products: Products, network: NetworkWeights, name: str, x: str) -> None:
        self.graph, self.products, self.network, self.name, self.x = graph, products, network, name, x

    def through(self, index: int, norm: str, sublayer: Callable[[int, str], str]) -> None:
        """Add a sublayer of block `index` inside its residual, with the normalization before or after it."""
        norm = f"{self.name}/block_{index}/{norm}"
        if self.network.norm_first:
            self.x = self.graph.node("Add", self.x, sublayer(index, self._normal(norm)))
        else:
            self.x = self.graph.node("Add", self.x, sublayer(index, self.x))
            self.x = self._normal(norm)

    def leave(self) -> str:
        """Return the output of the stack."""
        return self._normal(f"{self.name}/norm") if self.network.norm_first else self.x

    def dense(self, index: int, layer: str, x: str) -> str:
        """Apply a dense layer of block `index`: (R, D) -> (R, N)."""
        name, arrays = f"{self.name}/block_{index}/{layer}", self.network.arrays
        product = f"{self.name}.{index}.{_PRODUCTS[layer]}"
        return self.products.product(self.graph, product, x, arrays[f"{name}/kernel"], arrays[f"{name}/bias"])

    def feed_forward(self, index: int, x: str) -> str:
        """Apply the feed-forward network of block `index`: (R, D) -> (R, D)."""
        x = self.dense(index, "feed_forward/inner", x)
        return self.dense(index, "feed_forward/outer", _active(self.graph, self.network.activation, x))

    def _normal(self, norm: str) -> str:
        weights = [
            self.graph.weight(f"{_NORMS}/{norm}/{name}", self.network.arrays[f"{norm}/{name}"])
            for name in ("gamma", "beta")
        ]
        normal: str = self.graph.node(
            "LayerNormalization", self.x, *weights, axis=-1, epsilon=self.network.epsilon
        )
        return normal


def _active(graph: Graph, activation: str, x: str) -> str:
    if activation == "silu":
        return str(graph.node("Mul", x, graph.node("Sigmoid", x)))
    return str(graph.node(activation.capitalize(), x))


def _embedded(graph: Graph, products: Products, network: NetworkWeights, ids: str, positions: str) -> str:
    """Return the vectors of ids plus those of their positions."""
    vectors = products.values(graph, EMBEDDING, "Gather", ids)
    if network.scale_embeddings:
        vectors = graph.node("Mul", vectors, graph.weight("scale", np.float32(network.width**0.5)))
    x: str = graph.node("Add", vectors, positions)
    return x
