"""The choice of the next token from logits: the likeliest one, and what other searches need.

Two graphs without weights run where a caller needs them: one computes log-probabilities from the decoder's
logits, the other selects candidates from these, for beams and prefixes, and to avoid repetitions.

B rows, V vocabulary, W logits: V in whole blocks.
"""

import numpy as np

from keras_transformer.graphs.builder import INT32, INT64, Graph
from keras_transformer.graphs.network_weights import Array

BLOCK = 64  # number of logits that are searched together


def whole_blocks(rows: Array) -> Array:
    """Pad with copies of the first row: a copy is never the first index of the highest logit."""
    return np.concatenate([rows, np.repeat(rows[:1], -len(rows) % BLOCK, axis=0)])


def add_choice(graph: Graph, logits: str, vocabulary: int) -> None:
    """Add the outputs next (B, 1), its logit (B, 1) and logits (B, W) to a decoder."""
    token, logit = _highest(graph, logits)
    graph.output("next", graph.node("Cast", token, to=INT32), ["batch", 1], INT32)
    graph.output("logit", logit, ["batch", 1])
    graph.output("logits", logits, ["batch", _padded(vocabulary)])


def scores(vocabulary: int) -> Graph:
    """Build the log-probabilities: logits (B, W), next (B, 1) -> its log_prob (B, 1), log_probs (B, V)."""
    graph = Graph("scores")
    logits = graph.input("logits", ["batch", _padded(vocabulary)])
    index = graph.node("Unsqueeze", graph.input("next", ["batch", 1], INT32), graph.integers(2))
    if vocabulary % BLOCK:
        logits = graph.node("Slice", logits, *map(graph.integers, (0, vocabulary, 1)))
    log_probs = graph.node("LogSoftmax", logits, axis=1)
    log_prob = graph.node("GatherND", log_probs, graph.node("Cast", index, to=INT64), batch_dims=1)
    graph.output("log_prob", log_prob, ["batch", 1])
    graph.output("log_probs", log_probs, ["batch", vocabulary])
    return graph


def candidates(vocabulary: int) -> Graph:
    """Build the selection of candidates: log_probs (B, V) -> highest and tokens (B, count).

    The highest values of all are in the blocks with the highest maxima; this takes 44 µs instead of 97 µs for
    8 of 32 × 8,000. Of equal values the first wins, as in a search over all of them.
    """
    graph = Graph("candidates")
    log_probs = graph.input("log_probs", ["batch", vocabulary])
    count = graph.input("count", [1], INT64)
    axis, block = graph.integers(2), graph.integers(BLOCK)
    if missing := -vocabulary % BLOCK:
        lowest = graph.weight("lowest", np.float32(-np.inf))
        log_probs = graph.node("Pad", log_probs, graph.integers(0, 0, 0, missing), lowest)
    blocks = graph.node("Reshape", log_probs, graph.integers(0, -1, BLOCK))
    maxima = graph.node("ReduceMax", blocks, axis, keepdims=0)
    few = graph.node("Min", count, graph.integers(-(-vocabulary // BLOCK)))
    _, chosen = graph.node("TopK", maxima, few, outputs=2, axis=1)
    chosen, _ = graph.node("TopK", chosen, few, outputs=2, axis=1, largest=0)  # in their order again
    inside = graph.node("GatherND", blocks, graph.node("Unsqueeze", chosen, axis), batch_dims=1)
    inside = graph.node("Reshape", inside, graph.integers(0, -1))
    highest, places = graph.node("TopK", inside, count, outputs=2, axis=1)
    of_block = graph.node("GatherElements", chosen, graph.node("Div", places, block), axis=1)
    begin = graph.node("Mul", of_block, block)
    graph.output("highest", highest, ["batch", "count"])
    tokens = graph.node("Add", begin, graph.node("Mod", places, block))
    graph.output("tokens", tokens, ["batch", "count"], INT64)
    return graph


def _padded(vocabulary: int) -> int:
    """Return the number of logits in whole blocks."""
    return vocabulary + -vocabulary % BLOCK


def _highest(graph: Graph, logits: str) -> tuple[str, str]:
    """Find the first index of the highest logit, and that logit, (B, W) -> (B, 1), (B, 1).

    ArgMax without blocks takes ten times as long.
    """
    blocks = graph.node("Reshape", logits, graph.integers(0, -1, BLOCK))
    highest = graph.node("ReduceMax", blocks, graph.integers(2), keepdims=0)
    block = graph.node("ArgMax", highest, axis=1)
    inside = graph.node("ArgMax", graph.node("GatherND", blocks, block, batch_dims=1), axis=1)
    index = graph.node("Add", graph.node("Mul", block, graph.integers(BLOCK)), inside)
    return index, graph.node("GatherElements", highest, block, axis=1)
