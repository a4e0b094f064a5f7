"""Greedy decoding in one graph for any batch and length, which SavedModel and translate.onnx contain.

The graph decodes in stretches of steps, and removes rows that have ended after each stretch. Its cache grows
with every step.

B batch, S source length, L answer length, R rows that have not ended, V target vocabulary.
"""

from typing import Any, NamedTuple

import tensorflow as tf

from keras_transformer.decoding.greedy import StepFunction, greedy_stretch
from keras_transformer.decoding.traced_search import with_target
from keras_transformer.layers.decoder.cache import DecoderCache
from keras_transformer.models.network import Network
from keras_transformer.models.translation import DecodingState

STRETCH = 8  # steps between two removals of rows that have ended


class Answers(NamedTuple):
    """Greedy translations of a batch.

    Attributes:
        target: Token ids (B, L) int32, each row up to and including its end id, then 0.
        score: Mean log-probability of these (B,) float32.
    """

    target: Any
    score: Any


def greedy_answers(
    step: StepFunction, state: DecodingState, source: Any, start_id: int, end_id: int, network: Network
) -> Answers:
    """Decode rows (B, S) greedily, with the answers of `search_ids`.

    Args:
        step: Step function of the model; each call gets a cache with room for one more position.
        state: Encoding of the rows, with an empty cache.
        source: Token ids (B, S).
        start_id: Id of the token before every answer.
        end_id: Id of the token that ends an answer.
        network: Configuration with the length limits.
    """
    limits = answer_limits(source, end_id, network)
    batch = tf.shape(source)[0]

    def stretch(first: Any, rows: Any, token: Any, said: Any, found: Any, cache: Any) -> Any:
        def extend(token: Any, position: Any, carried: Any) -> Any:
            cache, log_probs = carried
            logits, after = step(token, position, with_target(state._replace(cache=cache), _one_more))
            here = tf.range(STRETCH) == position - first
            return logits, (after.cache, tf.where(here, highest_log_prob(logits), log_probs))

        empty = tf.zeros([tf.size(rows), STRETCH])
        done = greedy_stretch(
            extend, (cache, empty), token, first, STRETCH, [end_id], tf.gather(limits, rows)
        )
        cache, log_probs = done.state
        kept = tf.where(tf.logical_not(done.ended))[:, 0]
        return (
            first + STRETCH,
            tf.gather(rows, kept),
            tf.gather(done.token, kept),
            tf.concat([said, tf.scatter_nd(rows[:, None], done.tokens, [batch, STRETCH])], axis=1),
            tf.concat([found, tf.scatter_nd(rows[:, None], log_probs, [batch, STRETCH])], axis=1),
            _taken(state._replace(cache=cache), kept).cache,
        )

    rows = tf.cast(tf.where(limits > 0)[:, 0], tf.int32)
    cache = _taken(state, rows).cache
    token = tf.fill([tf.size(rows)], start_id)
    start = (tf.constant(0), rows, token, tf.zeros([batch, 0], tf.int32), tf.zeros([batch, 0]), cache)
    *_, said, found, _ = tf.while_loop(_any_left, stretch, start, shape_invariants=_shapes(cache))
    ended = tf.cumsum(tf.cast(said == end_id, tf.int32), axis=1, exclusive=True) > 0
    real = tf.logical_not(ended) & (tf.range(tf.shape(said)[1]) < limits[:, None])
    lengths = tf.math.count_nonzero(real, axis=1, dtype=tf.int32)
    score = tf.math.divide_no_nan(
        tf.reduce_sum(tf.where(real, found, 0.0), axis=1), tf.cast(lengths, tf.float32)
    )
    longest = tf.math.count_nonzero(tf.reduce_any(real, axis=0), dtype=tf.int32)
    return Answers(said[:, :longest], score)


def answer_limits(source: Any, end_id: int, network: Network) -> Any:
    """Return the largest number of tokens of each answer (B,); 0 for a source that holds only its end id."""
    lengths = tf.math.count_nonzero(source, axis=1, dtype=tf.int32)
    nothing = (lengths == 0) | ((lengths == 1) & (tf.reduce_sum(source, axis=1) == end_id))
    return tf.where(nothing, 0, tf.minimum(network.answer_limit(lengths), network.max_length))


def _any_left(first: Any, rows: Any, *_: Any) -> Any:
    return tf.size(rows) > 0


def _taken(state: DecodingState, rows: Any) -> DecodingState:
    """Take these rows of a state."""
    return state._replace(cache=tf.nest.map_structure(lambda part: tf.gather(part, rows), state.cache))


def _one_more(part: Any) -> Any:
    """Pad (R, H, T, K) to (R, H, T + 1, K)."""
    return tf.pad(part, [[0, 0], [0, 0], [0, 1], [0, 0]])


def highest_log_prob(logits: Any) -> Any:
    """Return the log-probability of the greedy token, (R, V) -> (R, 1)."""
    highest = tf.reduce_max(logits, axis=1, keepdims=True)
    return -tf.math.log(tf.reduce_sum(tf.exp(logits - highest), axis=1, keepdims=True))


def _shapes(cache: DecoderCache) -> tuple[Any, ...]:
    """Return the shapes of the loop's values: all dimensions but heads and their width are dynamic."""

    def free(part: Any) -> Any:
        return tf.TensorShape([None, part.shape[1], None, part.shape[3]])

    parts = tf.nest.map_structure(free, cache)._replace(memory_mask=tf.TensorShape([None, 1, 1, None]))
    number, row, table = (tf.TensorShape([None] * rank) for rank in range(3))
    return number, row, row, table, table, parts
