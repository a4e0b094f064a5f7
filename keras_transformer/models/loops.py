"""Decoding loops as TensorFlow runs them: one graph for every shape, and XLA for the shapes that keep coming.

A graph is traced once, in about a second, and takes a batch of any shape. XLA is up to twice as fast, but it
compiles each shape anew, in seconds: only a shape that has come often is worth that.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from keras_transformer.decoding.beam import beam_search
from keras_transformer.decoding.greedy import greedy
from keras_transformer.decoding.lengths import longest_answer
from keras_transformer.text.batches import padded

if TYPE_CHECKING:
    from keras_transformer.models.translation import DecodingState, TranslationModel

COMPILE_AFTER = 100  # batches of a shape
LENGTH_STEP = 8  # sources are padded to a multiple of it, so that shapes come again
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
        run = self._run.get(shape) or self._made((None, None, None, None))
        return run(tf.constant(source), tf.constant(limits), tf.constant(prefix)).numpy()

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
    for chosen in _batches(rows, search, batch_tokens):
        width = _width(rows[chosen[0]])
        source = padded([rows[row] for row in chosen], min(width, model.network.max_length))
        length = min(longest_answer(width), most)
        limits = np.array([min(longest_answer(len(rows[row])), most) for row in chosen], np.int32)
        begins = [[] if prefixes is None else prefixes[row] for row in chosen]
        answers = loop(source, limits, padded(begins, max(map(len, begins))), length)
        for row, limit, beams in zip(chosen, limits, answers, strict=True):
            found[row] = [_said(ids[:limit], search.end_id) for ids in beams]
    return found


def _batches(rows: Rows, search: Search, batch_tokens: int) -> Iterator[list[int]]:
    """The places of rows of like length, the longest first."""
    order = [place for place, row in enumerate(rows) if list(row) != [search.end_id]]
    order.sort(key=lambda place: len(rows[place]), reverse=True)
    while order:
        size = max(1, batch_tokens // (_width(rows[order[0]]) * search.beam))
        yield order[:size]
        order = order[size:]


def _width(longest: Sequence[int]) -> int:
    """What a batch is padded to whose longest row this is."""
    return -(-len(longest) // LENGTH_STEP) * LENGTH_STEP


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
