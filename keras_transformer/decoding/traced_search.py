"""Searches over a model's own `encode` and `step`, compiled by the Keras backend in use.

They compute the golden answers of an export. `model.translate` uses them only if a model's step is overridden
or its network has no ONNX graphs; otherwise it decodes in ONNX Runtime (`models/hosted.py`).
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
from keras_transformer.text.lengths import like_lengths
from keras_transformer.text.padding import padded

if TYPE_CHECKING:
    from keras_transformer.models.translation import DecodingState, TranslationModel

BATCH_TOKENS = 2048  # source tokens of a batch with padding, divided by the width of the beam

Ids = NDArray[np.int32]
Rows = Sequence[Sequence[int]]


class Search(NamedTuple):
    """Options of a search; beam 1 is greedy decoding."""

    start_id: int
    end_id: int
    beam: int = 1
    length_penalty: float = 1.0


class Loop:
    """Search over one model with fixed options, traced once."""

    def __init__(self, model: "TranslationModel", search: Search) -> None:
        self.model = model
        self.search = search
        self._run = traced(model, self._decode, 2, 1, 2, 0)

    def __call__(self, source: Ids, limits: Ids, prefix: Ids) -> Ids:
        """Search answers (B, beam, L) for source ids (B, S), largest lengths (B,) and prefixes (B, P)."""
        return self._run(source, limits, prefix, int(limits.max()))

    def _decode(self, source: Any, limits: Any, prefix: Any, longest: Any) -> Any:
        model, (start_id, end_id, beam, penalty) = self.model, self.search
        batch = ops.shape(source)[0]
        if beam == 1:
            state = model.encode(source, longest)
            return greedy(model.step, state, batch, longest, start_id, end_id, limits, prefix)[:, None]
        # all beams of a row have the same memory: repeat it, instead of encoding the row again
        state = repeated(model.encode(source, longest), beam)
        options = (batch, beam, longest, start_id, end_id, penalty, limits, prefix)
        return beam_search(model.step, reordered, state, *options).tokens


def search_traced(
    model: "TranslationModel",
    rows: Rows,
    search: Search,
    max_length: int,
    prefixes: Rows | None = None,
    batch_tokens: int = BATCH_TOKENS,
) -> list[list[list[int]]]:
    """Search answers with the loop over the layers.

    Args:
        model: The model.
        rows: Source ids, each with the end id.
        search: Options of the search.
        max_length: Largest number of tokens of an answer.
        prefixes: For each row, the ids with which its answers begin.
        batch_tokens: Largest number of source tokens of a batch, with padding.

    Returns:
        For each row its answers, best first; none for a row that holds only its end id.
    """
    loop = model.derived.get(Loop, search)
    results: list[list[list[int]]] = [[] for _ in rows]
    for chosen in like_lengths(rows, batch_tokens // search.beam, search.end_id):
        source = padded([rows[row] for row in chosen], len(rows[chosen[0]]))
        longest = model.network.answer_limit
        limits = np.array([min(longest(len(rows[row])), max_length) for row in chosen], np.int32)
        chosen_prefixes = [[] if prefixes is None else prefixes[row] for row in chosen]
        answers = loop(source, limits, padded(chosen_prefixes))
        for row, limit, beams in zip(chosen, limits, answers, strict=True):
            results[row] = [up_to_end(ids[:limit], search.end_id) for ids in beams]
    return results


def up_to_end(ids: Ids, end_id: int) -> list[int]:
    """Cut ids after their end id."""
    values: list[int] = ids.tolist()
    return values[: values.index(end_id) + 1] if end_id in values else values


def repeated(state: "DecodingState", times: int) -> "DecodingState":
    """Repeat every row `times` times, next to each other."""
    cache = keras.tree.map_structure(lambda rows: ops.repeat(rows, times, axis=0), state.cache)
    return state._replace(cache=cache)


def reordered(state: "DecodingState", rows: Any) -> "DecodingState":
    """Select the target's keys and values of these rows; beams of a row share its memory."""
    return with_target(state, lambda part: ops.take(part, rows, axis=0))


def with_target(state: "DecodingState", change: Callable[[Any], Any]) -> "DecodingState":
    """Apply a function to every key and value of the target, (B, H, T, K)."""
    blocks = tuple(
        block._replace(key=change(block.key), value=change(block.value)) for block in state.cache.blocks
    )
    return state._replace(cache=state.cache._replace(blocks=blocks))
