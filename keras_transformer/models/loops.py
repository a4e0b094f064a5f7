"""The searches over a model's own `encode` and `step`, as one TensorFlow graph for batches of every shape.

An export learns its golden answers here. A model that speaks does so where it can in ONNX Runtime
(`models/packed.py`), and here where its step is its own, or its network none that has graphs there.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from keras_transformer.decoding.beam import beam_search
from keras_transformer.decoding.greedy import greedy
from keras_transformer.decoding.lengths import like_lengths, longest_answer
from keras_transformer.text.batches import padded

if TYPE_CHECKING:
    from keras_transformer.models.translation import DecodingState, TranslationModel

BATCH_TOKENS = 2048  # of source, padding included, in a batch; a beam takes its share of it

Ids = NDArray[np.int32]
Rows = Sequence[Sequence[int]]


class Search(NamedTuple):
    """What a loop looks for. beam 1 is greedy."""

    start_id: int
    end_id: int
    beam: int = 1
    length_penalty: float = 1.0


class Loop:
    """One search over one model, traced once."""

    def __init__(self, model: "TranslationModel", search: Search) -> None:
        self.model = model
        self.search = search
        ids, limits = tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None,), tf.int32)
        graph = tf.function(self._decode, input_signature=[ids, limits, ids], autograph=False)
        self._run = graph.get_concrete_function()

    def __call__(self, source: Ids, limits: Ids, prefix: Ids) -> Ids:
        """(B, S) ids, (B,) the most tokens of each row, (B, P) what it begins with -> (B, beam, L) ids."""
        return self._run(tf.constant(source), tf.constant(limits), tf.constant(prefix)).numpy()

    def _decode(self, source: Any, limits: Any, prefix: Any) -> Any:
        model, search = self.model, self.search
        longest, batch = tf.reduce_max(limits), tf.shape(source)[0]
        if search.beam == 1:
            state = model.encode(source, longest)
            ids = greedy(model.step, state, batch, longest, search.start_id, search.end_id, limits, prefix)
            return ids[:, None]
        # the memory is the same for all beams of a row: a row's encoding is repeated, not computed again
        state = repeated(model.encode(source, longest), search.beam)
        return beam_search(
            model.step,
            reordered,
            state,
            batch,
            search.beam,
            longest,
            search.start_id,
            search.end_id,
            search.length_penalty,
            limits,
            prefix,
        ).tokens


def looped(
    model: "TranslationModel",
    rows: Rows,
    search: Search,
    most: int,
    prefixes: Rows | None = None,
    batch_tokens: int = BATCH_TOKENS,
) -> list[list[list[int]]]:
    """For each row of source ids its answers, the best first, of `most` tokens at most."""
    if search not in model.loops:
        model.loops[search] = Loop(model, search)
    loop = model.loops[search]
    found: list[list[list[int]]] = [[] for _ in rows]
    for chosen in like_lengths(rows, batch_tokens // search.beam, search.end_id):
        source = padded([rows[row] for row in chosen], len(rows[chosen[0]]))
        limits = np.array([min(longest_answer(len(rows[row])), most) for row in chosen], np.int32)
        begins = [[] if prefixes is None else prefixes[row] for row in chosen]
        answers = loop(source, limits, padded(begins, max(map(len, begins))))
        for row, limit, beams in zip(chosen, limits, answers, strict=True):
            found[row] = [_said(ids[:limit], search.end_id) for ids in beams]
    return found


def _said(ids: Ids, end_id: int) -> list[int]:
    """Up to and with the end; what was never said is 0."""
    said: list[int] = ids.tolist()
    return said[: said.index(end_id) + 1] if end_id in said else said


def repeated(state: "DecodingState", times: int) -> "DecodingState":
    """Every row `times` times, beside each other."""
    cache = tf.nest.map_structure(lambda rows: tf.repeat(rows, times, axis=0), state.cache)
    return state._replace(cache=cache)


def reordered(state: "DecodingState", rows: Any) -> "DecodingState":
    """The target's keys and values of these rows. Beams of one row share its memory, so that stays."""
    return with_target(state, lambda part: tf.gather(part, rows))


def with_target(state: "DecodingState", change: Callable[[Any], Any]) -> "DecodingState":
    """Every key and value of the target, (B, H, T, K), changed."""
    blocks = tuple(
        block._replace(key=change(block.key), value=change(block.value)) for block in state.cache.blocks
    )
    return state._replace(cache=state.cache._replace(blocks=blocks))
