"""Decoding loops as TensorFlow runs them: one graph for every shape, and XLA for the shapes that keep coming.

A graph is traced once, in about a second, and takes a batch of any shape. XLA is up to twice as fast, but it
compiles each shape anew, in seconds: only a shape that has come often is worth that.
"""

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from keras_transformer.decoding.beam import beam_search
from keras_transformer.decoding.greedy import greedy

if TYPE_CHECKING:
    from keras_transformer.models.translation import DecodingState, TranslationModel

COMPILE_AFTER = 100  # batches of a shape
LENGTH_STEP = 8  # sources are padded to a multiple of it, so that shapes come again

Ids = NDArray[np.int32]


class Search(NamedTuple):
    """What a loop looks for. beam 1 is greedy."""

    start_id: int
    end_id: int
    beam: int = 1
    length_penalty: float = 1.0


class Loop:
    """One search over one model, its graphs and compiled shapes kept."""

    def __init__(self, model: "TranslationModel", search: Search) -> None:
        self.model = model
        self.search = search
        self.seen: Counter[tuple[int, ...]] = Counter()
        self.traces = 0
        self._run: dict[Any, Any] = {}

    @property
    def compiled(self) -> set[tuple[int, ...]]:
        """The shapes that XLA has ready."""
        return {shape for shape in self._run if None not in shape}

    def __call__(self, source: Ids, limits: Ids, prefix: Ids, length: int) -> Ids:
        """(B, S) ids, (B,) the most tokens of each row, (B, P) what it begins with -> (B, beam, L) ids.

        `length` is at least the highest of the limits, and the same for every batch of this shape.
        """
        shape = (*source.shape, length, prefix.shape[1])
        self.seen[shape] += 1
        if self.seen[shape] > COMPILE_AFTER:
            self.compile(*shape)
        rows = 1 if shape[0] == 1 else None  # one row does without what pays only for many
        run = self._run.get(shape) or self._made((rows, None, None, None))
        return run(tf.constant(source), tf.constant(limits), tf.constant(prefix)).numpy()

    def compile(self, rows: int, source_length: int, length: int, prefix_length: int = 0) -> None:
        """Have this shape ready under XLA."""
        self._made((rows, source_length, length, prefix_length))

    def _made(self, shape: tuple[int | None, ...]) -> Any:
        if shape not in self._run:
            rows, source_length, length, prefix_length = shape
            ids = [(rows, source_length), (rows,), (rows, prefix_length)]
            self._run[shape] = tf.function(
                lambda source, limits, prefix: self._decode(source, limits, prefix, length),
                input_signature=[tf.TensorSpec(each, tf.int32) for each in ids],
                autograph=False,
                jit_compile=length is not None,
            )
        return self._run[shape]

    def _decode(self, source: Any, limits: Any, prefix: Any, length: int | None) -> Any:
        self.traces += 1
        model, search = self.model, self.search
        longest = tf.reduce_max(limits) if length is None else length
        batch = tf.shape(source)[0]
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


def repeated(state: "DecodingState", times: int) -> "DecodingState":
    """Every row `times` times, beside each other."""
    cache = tf.nest.map_structure(lambda rows: tf.repeat(rows, times, axis=0), state.cache)
    return state._replace(cache=cache)


def reordered(state: "DecodingState", rows: Any) -> "DecodingState":
    """The target's keys and values of these rows. Beams of one row share its memory, so that stays."""
    blocks = tuple(
        block._replace(key=tf.gather(block.key, rows), value=tf.gather(block.value, rows))
        for block in state.cache.blocks
    )
    return state._replace(cache=state.cache._replace(blocks=blocks))
