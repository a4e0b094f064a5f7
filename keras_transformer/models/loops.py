"""Decoding loops as TensorFlow runs them: one graph for every shape, and XLA for the shapes that keep coming.

A graph is traced once, in about a second, and takes a batch of any shape. Greedy decoding goes through it
in stretches: between two of them the rows that have ended leave, and the cache grows. XLA is up to twice as
fast, but it compiles each shape anew, in seconds: only a shape that has come often is worth that.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from keras_transformer.decoding.beam import beam_search
from keras_transformer.decoding.greedy import Stretch, greedy, greedy_stretch

if TYPE_CHECKING:
    from keras_transformer.models.translation import DecodingState, TranslationModel

COMPILE_AFTER = 100  # batches of a shape
STRETCH = 8  # steps between two looks at which rows have ended
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
        return {shape for shape in self._run if all(isinstance(size, int) for size in shape)}

    def __call__(self, source: Ids, limits: Ids, prefix: Ids, length: int) -> Ids:
        """(B, S) ids, (B,) the most tokens of each row, (B, P) what it begins with -> (B, beam, L) ids.

        `length` is at least the highest of the limits, and the same for every batch of this shape.
        """
        shape = (*source.shape, length, prefix.shape[1])
        self.seen[shape] += 1
        if self.seen[shape] > COMPILE_AFTER:
            self.compile(*shape)
        run = self._run.get(shape)
        if run is None and self.search.beam == 1:
            return self._in_stretches(source, limits, prefix)[:, None]
        run = run or self._made((None, None, None, None))
        return run(tf.constant(source), tf.constant(limits), tf.constant(prefix)).numpy()

    def _in_stretches(self, source: Ids, limits: Ids, prefix: Ids) -> Ids:
        """-> (B, L). Rows that have ended cost nothing more, nor do places of the cache not yet needed."""
        one = len(source) == 1  # one row does without what pays only for many
        ids = tf.TensorSpec((1 if one else None, None), tf.int32)
        encode = self._graph(("encode", one), lambda source: self.model.encode(source, STRETCH), [ids])
        state = encode(tf.constant(source))
        proceed = self._graph(("proceed", one), self._proceed, _signature(state))
        rows, first = np.arange(len(source)), 0
        said = np.zeros((len(source), -(-int(limits.max(initial=0)) // STRETCH) * STRETCH), np.int32)
        token = tf.fill([len(source)], self.search.start_id)
        kept = rows
        while len(rows):
            stretch = proceed(state, token, kept, first, limits[rows], prefix[rows])
            said[rows, first : first + STRETCH] = stretch.tokens.numpy()
            (kept,) = np.nonzero(~stretch.ended.numpy())
            rows, token, state, first = rows[kept], stretch.token, stretch.state, first + STRETCH
        return said

    def _proceed(self, state: Any, token: Any, kept: Any, first: Any, limits: Any, prefix: Any) -> Stretch:
        """Of what there is the rows that are kept, and a stretch of steps with them."""
        state, token = taken(state, kept), tf.gather(token, kept)
        more = tf.maximum(first + STRETCH - tf.shape(state.cache.blocks[0].key)[2], 0)
        state = with_target(state, lambda part: tf.pad(part, [[0, 0], [0, 0], [0, more], [0, 0]]))
        return greedy_stretch(
            self.model.step, state, token, first, STRETCH, self.search.end_id, limits, prefix
        )

    def _graph(self, name: Any, function: Any, signature: Any, compiled: bool = False) -> Any:
        if name not in self._run:

            def traced(*inputs: Any) -> Any:
                self.traces += 1
                return function(*inputs)

            graph = tf.function(traced, input_signature=signature, autograph=False, jit_compile=compiled)
            # there is one trace: looking for it at every call takes half a millisecond
            self._run[name] = graph.get_concrete_function()
        return self._run[name]

    def compile(self, rows: int, source_length: int, length: int, prefix_length: int = 0) -> None:
        """Have this shape ready under XLA."""
        self._made((rows, source_length, length, prefix_length))

    def _made(self, shape: tuple[int | None, ...]) -> Any:
        rows, source_length, length, prefix_length = shape
        ids = [(rows, source_length), (rows,), (rows, prefix_length)]
        signature = [tf.TensorSpec(each, tf.int32) for each in ids]
        return self._graph(shape, partial(self._decode, length), signature, compiled=length is not None)

    def _decode(self, length: int | None, source: Any, limits: Any, prefix: Any) -> Any:
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
    return with_target(state, lambda part: tf.gather(part, rows))


def with_target(state: "DecodingState", change: Callable[[Any], Any]) -> "DecodingState":
    """Every key and value of the target, (B, H, T, K), changed."""
    blocks = tuple(
        block._replace(key=change(block.key), value=change(block.value)) for block in state.cache.blocks
    )
    return state._replace(cache=state.cache._replace(blocks=blocks))


def taken(state: "DecodingState", rows: Any) -> "DecodingState":
    """These rows of it."""
    return state._replace(cache=tf.nest.map_structure(lambda part: tf.gather(part, rows), state.cache))


def _signature(state: "DecodingState") -> list[Any]:
    """What _proceed takes: any number of rows, of positions and of source tokens."""
    cache = tf.nest.map_structure(
        lambda part: tf.TensorSpec((None, part.shape[1], None, part.shape[3]), part.dtype), state.cache
    )
    mask = tf.TensorSpec((None, 1, 1, None), tf.bool)
    output = tf.nest.map_structure(lambda part: tf.TensorSpec(part.shape, part.dtype), state.output)
    row = tf.TensorSpec((None,), tf.int32)
    return [
        state._replace(cache=cache._replace(memory_mask=mask), output=output),
        row,
        tf.TensorSpec((None,), tf.int64),
        tf.TensorSpec((), tf.int32),
        row,
        tf.TensorSpec((None, None), tf.int32),
    ]
