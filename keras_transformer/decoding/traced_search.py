"""The searches over a model's own `encode` and `step`, compiled by the Keras backend in use.

An export learns its golden answers here. A model that speaks does so where it can in ONNX Runtime
(`models/hosted.py`), and here where its step is its own, or its network none that has graphs there.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_transformer.decoding.beam import beam_search
from keras_transformer.decoding.greedy import greedy
from keras_transformer.decoding.tracing import traced
from keras_transformer.text.buckets import padded
from keras_transformer.text.lengths import like_lengths

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
        self._run = traced(model, self._decode, 2, 1, 2, 0)

    def __call__(self, source: Ids, limits: Ids, prefix: Ids) -> Ids:
        """(B, S) ids, (B,) the most tokens of each row, (B, P) what it begins with -> (B, beam, L) ids."""
        return self._run(source, limits, prefix, int(limits.max()))

    def _decode(self, source: Any, limits: Any, prefix: Any, longest: Any) -> Any:
        model, search = self.model, self.search
        batch = ops.shape(source)[0]
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


def search_traced(
    model: "TranslationModel",
    rows: Rows,
    search: Search,
    most: int,
    prefixes: Rows | None = None,
    batch_tokens: int = BATCH_TOKENS,
) -> list[list[list[int]]]:
    """For each row of source ids its answers, the best first, of `most` tokens at most."""
    loop = model.derived.get(Loop, search)
    found: list[list[list[int]]] = [[] for _ in rows]
    for chosen in like_lengths(rows, batch_tokens // search.beam, search.end_id):
        source = padded([rows[row] for row in chosen], len(rows[chosen[0]]))
        limits = np.array(
            [min(model.network.longest_answer(len(rows[row])), most) for row in chosen], np.int32
        )
        begins = [[] if prefixes is None else prefixes[row] for row in chosen]
        answers = loop(source, limits, padded(begins, max(map(len, begins))))
        for row, limit, beams in zip(chosen, limits, answers, strict=True):
            found[row] = [_up_to_end(ids[:limit], search.end_id) for ids in beams]
    return found


def _up_to_end(ids: Ids, end_id: int) -> list[int]:
    """Cut ids behind their end; 0 is padding."""
    values: list[int] = ids.tolist()
    return values[: values.index(end_id) + 1] if end_id in values else values


def repeated(state: "DecodingState", times: int) -> "DecodingState":
    """Every row `times` times, beside each other."""
    cache = keras.tree.map_structure(lambda rows: ops.repeat(rows, times, axis=0), state.cache)
    return state._replace(cache=cache)


def reordered(state: "DecodingState", rows: Any) -> "DecodingState":
    """The target's keys and values of these rows. Beams of one row share its memory, so that stays."""
    return with_target(state, lambda part: ops.take(part, rows, axis=0))


def with_target(state: "DecodingState", change: Callable[[Any], Any]) -> "DecodingState":
    """Every key and value of the target, (B, H, T, K), changed."""
    blocks = tuple(
        block._replace(key=change(block.key), value=change(block.value)) for block in state.cache.blocks
    )
    return state._replace(cache=state.cache._replace(blocks=blocks))
