"""The encoder and the decoder, for a scheduler that keeps many sentences going at once.

The encoder takes sentences of one length: nothing is padded, so a row knows nothing of its neighbours. It
gives the keys and values that the decoder's cross-attention looks at. The decoder takes one token of each
row, each row at a position of its own, and writes the caches in place: what goes in and what comes out of
them is to be bound to the same buffer. There are two: one returns the likeliest next token, the other also
what a beam chooses from. All are made for ONNX Runtime and use its operators for attention.

B rows, S source length, D width, H heads, K width of a head, L layers of the decoder, V vocabulary.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_transformer.graphs.builder import INT32, INT64, MICROSOFT, Graph, Shape
from keras_transformer.graphs.precision import Array, Products, array

if TYPE_CHECKING:
    from keras_transformer.models.network import Network
    from keras_transformer.models.translation import TranslationModel

ACTIVATIONS = ("relu", "gelu", "silu")
EMBEDDING, POSITIONS = "embedding", "positions"
WRITTEN = "_written"  # behind the name of a cache, as it comes out
BLOCK = 64  # logits that are searched together


def refusal(network: "Network") -> str | None:
    """Why there are no graphs of this network, if there are none."""
    if network.activation not in ACTIVATIONS:
        return (
            f"the ONNX graphs have the activations {', '.join(ACTIVATIONS)}; this network has "
            f"{network.activation!r}."
        )
    lacking = [
        name for name in ("decoder_num_heads", "output_bias", "forbidden") if getattr(network, name)
    ] + ["tied_output"] * (not network.tied_output)
    if lacking:
        return f"the ONNX graphs do not compute {', '.join(lacking)} yet."
    width, heads = network.width, network.num_heads
    if width // heads % 8:
        return (
            f"ONNX Runtime's attention takes heads whose width is a multiple of 8; got {width} / {heads} = "
            f"{width // heads}. Train with another number of heads, or export other formats."
        )
    return None


def encoder(model: "TranslationModel", products: Products) -> Graph:
    """source (B, S) -> memory (2 L, B, H, S, K): the key and the value of each of the decoder's layers.

    The last source token's are also apart, in float32 and with the heads together: last (2 L, B, 1, D).
    """
    graph, heads = Graph("encoder"), model.network.num_heads
    source = graph.input("source", ["batch", "source"], INT32)
    positions = products.table(graph, POSITIONS, array(model.positions.table))
    length = graph.node("Shape", source, start=1, end=2)
    here = products.values(graph, positions, "Slice", graph.integers(0), length, graph.integers(0))
    products.table(graph, EMBEDDING, array(model.source_embedding.embeddings))
    width = model.network.width
    x = _embedded(graph, products, model.source_embedding.scale, source, here, width)
    sides = graph.node("Shape", source)
    sentences, tokens = graph.node("Concat", sides, graph.integers(-1), axis=0), graph.integers(-1, width)

    def attention(layer: str, weights: Any, x: str) -> str:
        x = _dense(graph, products, f"{layer}.query_key_value", x, weights.query_key_value_projection)
        parts = graph.node("Split", graph.node("Reshape", x, sentences), outputs=3, axis=2, num_outputs=3)
        x = graph.node("MultiHeadAttention", *parts, domain=MICROSOFT, num_heads=heads)
        x = graph.node("Reshape", x, tokens)
        return _dense(graph, products, f"{layer}.output", x, weights.output_projection)

    stream = _Stream(graph, model.encoder, graph.node("Reshape", x, tokens))
    for place, block in enumerate(model.encoder.blocks):
        layer = f"encoder.{place}"
        stream.through(block.self_attention_norm, partial(attention, layer, block.self_attention))
        stream.through(block.feed_forward_norm, partial(_feed_forward, graph, products, model, layer, block))
    projections = [block.cross_attention.key_value_projection for block in model.decoder.blocks]
    kernel = np.concatenate([array(dense.kernel) for dense in projections], axis=1)
    bias = np.concatenate([array(dense.bias) for dense in projections])
    x = products.product(graph, "memory", stream.leave(), kernel, bias)
    parts, head = 2 * len(projections), width // heads
    shape = graph.node("Concat", sides, graph.integers(parts, heads, head), axis=0)
    apart = graph.node("Reshape", x, shape)
    turned = graph.node("Transpose", apart, perm=[2, 0, 3, 1, 4])
    names = [name for layer in range(len(projections)) for name in _cache_names("memory", layer)]
    kept = products.cached(graph, turned, names)
    end = graph.node("Slice", turned, *map(graph.integers, (-1, 2**31, 3)))
    last = graph.node("Reshape", end, graph.integers(0, 0, 1, -1))
    graph.output("memory", kept, [parts, "batch", heads, "source", head], products.cache_kind)
    graph.output("last", last, [parts, "batch", 1, width])
    return graph


def decoder(model: "TranslationModel", products: Products) -> Graph:
    """token (B, 1) at position (B,) -> next (B, 1), and its log-probability (B, 1)."""
    return _decoder(model, products, partial(_choose, model))


def candidate_decoder(model: "TranslationModel", products: Products) -> Graph:
    """As `decoder`, with log_probs (B, V), the `count` highest of them, and the tokens whose they are."""

    def choose(graph: Graph, logits: str) -> None:
        log_probs = _choose(model, graph, logits)
        count = graph.input("count", [1], INT64)
        highest, tokens = graph.node("TopK", log_probs, count, outputs=2, axis=1)
        graph.output("log_probs", log_probs, ["batch", model.target_embedding.vocabulary_size])
        graph.output("highest", highest, ["batch", "count"])
        graph.output("tokens", tokens, ["batch", "count"], INT64)

    return _decoder(model, products, choose)


def _choose(model: "TranslationModel", graph: Graph, logits: str) -> str:
    """Output the likeliest token and its log-probability, and return the log-probabilities (B, V)."""
    highest = _highest(graph, logits)
    graph.output("next", graph.node("Cast", highest, to=INT32), ["batch", 1], INT32)
    log_probs = _log_probs(graph, logits, model)
    there = graph.node("Unsqueeze", highest, graph.integers(2))  # another search would read all again
    graph.output("log_prob", graph.node("GatherND", log_probs, there, batch_dims=1), ["batch", 1])
    return log_probs


def _decoder(model: "TranslationModel", products: Products, choose: Callable[[Graph, str], object]) -> Graph:
    """One token of each row through the decoder; `choose` gives what is to be known of its logits (B, V).

    The caches go in as {cache,memory}_{key,value}_LAYER and come out, a position longer, with _written behind
    the name. Attention to the memory is made of the operator that attends to the cache: at every step it
    writes the last source token, last_{key,value}_LAYER at memory_position (B,), where it stands already.
    """
    graph, network = Graph("decoder"), model.network
    heads, width = network.num_heads, network.width
    token = graph.input("token", ["batch", 1], INT32)
    position = graph.input("position", ["batch"], INT32)
    memory_position = graph.input("memory_position", ["batch"], INT32)
    capacities = {kind: graph.input(f"{kind}_capacity", [], INT32) for kind in ("cache", "memory")}
    written: dict[str, tuple[str, Shape]] = {}

    def attend(kind: str, layer: int, position: str, *parts: str) -> str:
        shape: Shape = ["batch", heads, f"{kind}_capacity", width // heads]
        names = _cache_names(kind, layer)
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

    def self_attention(layer: int, weights: Any, x: str) -> str:
        name = f"decoder.{layer}"
        x = _dense(graph, products, f"{name}.query_key_value", x, weights.query_key_value_projection)
        x = attend("cache", layer, position, one_token(x), "", "")
        return _dense(graph, products, f"{name}.output", x, weights.output_projection)

    def cross_attention(layer: int, weights: Any, x: str) -> str:
        name = f"decoder.{layer}"
        query = _dense(graph, products, f"{name}.query", x, weights.query_projection)
        last = [graph.input(f"last_{side}_{layer}", ["batch", 1, width]) for side in ("key", "value")]
        x = attend("memory", layer, memory_position, one_token(query), *last)
        return _dense(graph, products, f"{name}.memory_output", x, weights.output_projection)

    positions = products.table(graph, POSITIONS, array(model.positions.table))
    here = products.values(graph, positions, "Gather", position)
    products.table(graph, EMBEDDING, _whole_blocks(array(model.target_embedding.embeddings)))
    said = graph.node("Reshape", token, graph.integers(-1))
    x = _embedded(graph, products, model.target_embedding.scale, said, here, width)
    stream = _Stream(graph, model.decoder, x)
    for place, block in enumerate(model.decoder.blocks):
        stream.through(block.self_attention_norm, partial(self_attention, place, block.self_attention))
        stream.through(block.cross_attention_norm, partial(cross_attention, place, block.cross_attention))
        stream.through(
            block.feed_forward_norm, partial(_feed_forward, graph, products, model, f"decoder.{place}", block)
        )
    choose(graph, products.transposed(graph, "logits", stream.leave(), EMBEDDING))
    for name, (value, shape) in written.items():
        graph.output(name, value, shape, products.cache_kind)
    return graph


def _cache_names(kind: str, layer: int) -> list[str]:
    return [f"{kind}_{side}_{layer}" for side in ("key", "value")]


class _Stream:
    """The residual stream through a stack of blocks.

    Additions and normalisations are nodes of their own: fused, they take ONNX Runtime eight times as long.
    """

    def __init__(self, graph: Graph, stack: Any, x: str) -> None:
        self.graph, self.stack, self.x = graph, stack, x

    def through(self, norm: Any, sublayer: Callable[[str], str]) -> None:
        """A sublayer inside its residual, with the normalisation before or behind it."""
        if self.stack.norm_first:
            self.x = self.graph.node("Add", self.x, sublayer(self._normal(norm)))
        else:
            self.x = self.graph.node("Add", self.x, sublayer(self.x))
            self.x = self._normal(norm)

    def leave(self) -> str:
        """What comes out of the stack."""
        return self._normal(self.stack.norm) if self.stack.norm_first else self.x

    def _normal(self, norm: Any) -> str:
        weights = [self.graph.weight(weight.path, array(weight)) for weight in (norm.gamma, norm.beta)]
        normal: str = self.graph.node(
            "LayerNormalization", self.x, *weights, axis=-1, epsilon=self.stack.epsilon
        )
        return normal


def _dense(graph: Graph, products: Products, name: str, x: str, dense: Any) -> str:
    return products.product(graph, name, x, array(dense.kernel), array(dense.bias))


def _feed_forward(
    graph: Graph, products: Products, model: "TranslationModel", layer: str, block: Any, x: str
) -> str:
    x = _dense(graph, products, f"{layer}.inner", x, block.feed_forward.inner)
    x = _active(graph, model.network.activation, x)
    return _dense(graph, products, f"{layer}.outer", x, block.feed_forward.outer)


def _active(graph: Graph, activation: str, x: str) -> str:
    if activation == "silu":
        return str(graph.node("Mul", x, graph.node("Sigmoid", x)))
    return str(graph.node(activation.capitalize(), x))


def _embedded(graph: Graph, products: Products, scaled: bool, ids: str, here: str, width: int) -> str:
    vectors = products.values(graph, EMBEDDING, "Gather", ids)
    if scaled:
        vectors = graph.node("Mul", vectors, graph.weight("scale", np.float32(width**0.5)))
    x: str = graph.node("Add", vectors, here)
    return x


def _whole_blocks(rows: Array) -> Array:
    """Filled up with the first row: a copy of it, behind it, is never the first of the highest."""
    return np.concatenate([rows, np.repeat(rows[:1], -len(rows) % BLOCK, axis=0)])


def _highest(graph: Graph, logits: str) -> str:
    """(B, V) -> (B, 1): the first index of the highest. ArgMax without blocks takes ten times as long."""
    blocks = graph.node("Reshape", logits, graph.integers(0, -1, BLOCK))
    highest = graph.node("ReduceMax", blocks, graph.integers(2), keepdims=0)
    block = graph.node("ArgMax", highest, axis=1)
    inside = graph.node("ArgMax", graph.node("GatherND", blocks, block, batch_dims=1), axis=1)
    return str(graph.node("Add", graph.node("Mul", block, graph.integers(BLOCK)), inside))


def _log_probs(graph: Graph, logits: str, model: "TranslationModel") -> str:
    """(B, V, filled up) -> (B, V)."""
    vocabulary = model.target_embedding.vocabulary_size
    if vocabulary % BLOCK:
        logits = graph.node("Slice", logits, *map(graph.integers, (0, vocabulary, 1)))
    return str(graph.node("LogSoftmax", logits, axis=1))
