"""Beam search: keep the best few partial answers of every row, and the best few finished ones.

B batch, W width of the beam, L largest number of tokens of a row, P prefix length, V vocabulary.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_transformer.decoding.greedy import State, StepFunction, Tensor, forced

Reorder = Callable[[State, Tensor], State]
NEVER = float("-inf")


class Beams(NamedTuple):
    """Best answers of a beam search, in descending order.

    Attributes:
        tokens: Token ids (B, W, L), each row up to and including its end id, then 0.
        scores: Sum of the log-probabilities / (number of tokens, including the end id) ** penalty (B, W).
        margins: Smallest difference of two scores by which the search decided (B,): of neighbours among the
            best 2 W + 1 continuations of a step, and among the answers.
    """

    tokens: Tensor
    scores: Tensor
    margins: Tensor


class _Search(NamedTuple):
    """State of a search."""

    alive: Tensor  # (B, W, L): partial answers
    alive_scores: Tensor  # (B, W): sums of log-probabilities
    ended: Tensor  # (B, 2 W, L): finished answers; with at least W of them a row is done
    ended_scores: Tensor  # (B, 2 W): divided by length ** penalty; -inf for an empty slot
    count: Tensor  # (B,): number of finished answers
    token: Tensor  # (B W,): last token of each partial answer
    margin: Tensor  # (B,): smallest difference of two scores so far


def beam_search(
    step: StepFunction,
    reorder: Reorder,
    state: State,
    batch: Tensor,
    width: int,
    length: Tensor,
    start_id: int,
    end_id: int,
    penalty: float = 1.0,
    limits: Tensor | None = None,
    prefix: Tensor | None = None,
) -> Beams:
    """Search the `width` best answers of each row.

    At every step the best 2 W continuations are considered: of the first W, those that end become answers,
    and the best of the others replace them. A row is done when it has W answers, or at its limit, where
    unfinished beams count as answers.

    Args:
        step: Step function as in greedy decoding, over B W rows.
        reorder: Function reorder(state, rows) that selects rows (B W,) of the state.
        state: State of B W rows, the W beams of a row next to each other.
        batch: B, ().
        width: W.
        length: L, ().
        start_id: Id of the token before every answer.
        end_id: Id of the token that ends an answer.
        penalty: Exponent of the length by which scores are divided.
        limits: Largest length of each row (B,); by default L.
        prefix: Ids with which the answers of each row begin (B, P), padded with 0.

    Returns:
        The answers, best first.
    """
    slots, first_row = ops.arange(length), ops.arange(batch)[:, None] * width
    limits = ops.full((batch,), length, dtype="int32") if limits is None else ops.minimum(limits, length)

    def done(position: Tensor, search: _Search) -> Tensor:
        return ops.logical_or(search.count >= width, limits <= position)

    def proceed(position: Tensor, search: _Search, state: State) -> Tensor:
        return ops.logical_not(ops.all(done(position, search)))

    def extend(position: Tensor, search: _Search, state: State) -> Any:
        logits, state = step(search.token, position, state)
        scores, beams, tokens = _candidates(logits, search.alive_scores, prefix, position)
        margin = ops.where(done(position, search), np.inf, _least_difference(scores))
        scores, beams, tokens = (part[:, : 2 * width] for part in (scores, beams, tokens))
        candidates = _taken(search.alive, beams)
        candidates = ops.where(slots == position, tokens[..., None], candidates)
        real = ops.isfinite(scores[:, :width])
        is_last = (limits == position + 1)[:, None]
        ends = ops.logical_and(real, ops.logical_or(tokens[:, :width] == end_id, is_last))
        ends = ops.logical_and(ends, ops.logical_not(done(position, search))[:, None])
        # answers are stored in the order in which they end
        index = search.count[:, None] + ops.cumsum(ops.cast(ends, "int32"), axis=1) - 1
        put = ops.logical_and(ends[..., None], index[..., None] == ops.arange(2 * width))  # (B, W, 2 W)
        final = scores[:, :width] / ops.power(ops.cast(position + 1, scores.dtype), penalty)
        ended_scores = ops.maximum(
            search.ended_scores, ops.max(ops.where(put, final[..., None], NEVER), axis=1)
        )
        ended = search.ended + ops.sum(ops.where(put[..., None], candidates[:, :width, None], 0), axis=1)
        # the best continuation that has not ended replaces one that has
        others = ops.cast(ops.logical_not(tokens[:, width:] == end_id), "int32")
        nth_other = ops.cumsum(others, axis=1) * others  # (B, W): 1 for the first, 2 for the second, ...
        nth_end = ops.cumsum(ops.cast(ends, "int32"), axis=1)
        instead = width + ops.argmax(nth_end[..., None] == nth_other[:, None], axis=-1)
        chosen = ops.where(ends, ops.cast(instead, "int32"), ops.arange(width))
        rows = first_row + _taken(beams, chosen)
        token = _taken(tokens, chosen)
        search = _Search(
            _taken(candidates, chosen),
            _taken(scores, chosen),
            ended,
            ended_scores,
            search.count + ops.sum(ops.cast(ends, "int32"), axis=1),
            ops.reshape(token, (-1,)),
            ops.minimum(search.margin, margin),
        )
        return position + 1, search, reorder(state, ops.reshape(rows, (-1,)))

    alone = ops.where(ops.arange(width) == 0, 0.0, NEVER)  # at first all beams are equal: only one counts
    start = _Search(
        ops.zeros((batch, width, length), dtype="int32"),
        ops.broadcast_to(alone, (batch, width)),
        ops.zeros((batch, 2 * width, length), dtype="int32"),
        ops.full((batch, 2 * width), NEVER, dtype="float32"),
        ops.zeros((batch,), dtype="int32"),
        ops.full((batch * width,), start_id, dtype="int32"),
        ops.full((batch,), np.inf, dtype="float32"),
    )
    _, search, _ = ops.while_loop(
        proceed, extend, (ops.convert_to_tensor(0), start, state), maximum_iterations=length
    )
    scores, order = ops.top_k(search.ended_scores, 2 * width)
    margins = ops.minimum(search.margin, _least_difference(scores))
    return Beams(_taken(search.ended, order[:, :width]), scores[:, :width], margins)


def _candidates(
    logits: Tensor, alive_scores: Tensor, prefix: Tensor | None, position: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return scores, beams and tokens (B, 2 W + 1) of the best continuations for logits (B W, V)."""
    batch, width = ops.shape(alive_scores)
    vocabulary = logits.shape[-1]
    scores = ops.reshape(ops.log_softmax(ops.cast(logits, "float32")), (batch, width, vocabulary))
    if prefix is not None:
        prefix_token = forced(prefix, position)[:, None, None]
        allowed = ops.logical_or(prefix_token == 0, prefix_token == ops.arange(vocabulary))
        scores = ops.where(allowed, scores, NEVER)
    scores = scores + alive_scores[..., None]
    scores, indices = ops.top_k(ops.reshape(scores, (batch, width * vocabulary)), 2 * width + 1)
    indices = ops.cast(indices, "int32")
    return scores, indices // vocabulary, indices % vocabulary


def _least_difference(scores: Tensor) -> Tensor:
    """Return the smallest difference of two finite neighbours of sorted scores (B, N) -> (B,)."""
    real = ops.isfinite(scores[:, 1:])
    differences = ops.where(real, scores[:, :-1], 0.0) - ops.where(real, scores[:, 1:], 0.0)
    return ops.min(ops.where(real, differences, np.inf), axis=1)


def _taken(values: Tensor, indices: Tensor) -> Tensor:
    """Select items per row: (B, N, ...), (B, M) -> (B, M, ...)."""
    rank = len(values.shape)
    indices = ops.reshape(indices, (*ops.shape(indices), *(1,) * (rank - 2)))
    if rank == 3:
        indices = ops.broadcast_to(indices, (*ops.shape(indices)[:2], ops.shape(values)[2]))
    return ops.take_along_axis(values, indices, axis=1)
