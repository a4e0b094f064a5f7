"""Greedy decoding: choose the token with the highest logit at every step.

B batch, L largest number of tokens of a row, P prefix length, V vocabulary.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from keras import ops

Tensor = Any
State = Any
StepFunction = Callable[[Tensor, Tensor, State], tuple[Tensor, State]]


class Stretch(NamedTuple):
    """Result of several steps of greedy decoding.

    Attributes:
        tokens: Token ids (B, L), each row up to and including its end id, then 0.
        token: Last token of each row (B,); 0 in a row that ended before.
        ended: Whether each row has ended (B,).
        state: State for the next step.
    """

    tokens: Tensor
    token: Tensor
    ended: Tensor
    state: State


def greedy(
    step: StepFunction,
    state: State,
    batch: Tensor,
    length: Tensor,
    start_id: int,
    end_id: int,
    limits: Tensor | None = None,
    prefix: Tensor | None = None,
) -> Tensor:
    """Decode greedily.

    Args:
        step: Function of the last token (B,), its position () and the state that returns logits (B, V) and
            the new state. It is called until every row has ended, at most `length` times.
        state: State of the first step.
        batch: B, ().
        length: L, ().
        start_id: Id of the token before every answer.
        end_id: Id of the token that ends an answer.
        limits: Largest length of each row (B,); by default L.
        prefix: Ids with which each row begins (B, P), padded with 0.

    Returns:
        Token ids (B, L): each row up to and including end_id, then 0.
    """
    token = ops.full((batch,), start_id, dtype="int32")
    return greedy_stretch(
        step, state, token, ops.convert_to_tensor(0), length, [end_id], limits, prefix
    ).tokens


def greedy_stretch(
    step: StepFunction,
    state: State,
    token: Tensor,
    first: Tensor,
    length: Tensor,
    end_ids: Sequence[int],
    limits: Tensor | None = None,
    prefix: Tensor | None = None,
    choose: Callable[[Tensor, Tensor], Tensor] | None = None,
) -> Stretch:
    """Decode `length` steps after token (B,) at position `first` (); no row has ended before.

    choose(logits, position) returns the next tokens (B,); by default those with the highest logits.
    """
    slots = ops.arange(length)
    limits = ops.full_like(token, -1) if limits is None else limits  # -1 is never reached

    def proceed(position: Tensor, stretch: Stretch) -> Tensor:
        return ops.logical_not(ops.all(stretch.ended))

    def extend(position: Tensor, stretch: Stretch) -> Any:
        logits, state = step(stretch.token, position, stretch.state)
        token = highest(logits) if choose is None else choose(logits, position)
        if prefix is not None:
            prefix_token = forced(prefix, position)
            token = ops.where(prefix_token > 0, prefix_token, token)
        token = ops.where(stretch.ended, 0, token)
        tokens = ops.where(slots[None, :] == position - first, token[:, None], stretch.tokens)
        ends = [token == end_id for end_id in end_ids]
        ended = (stretch.ended, *ends, position + 1 == limits)
        return position + 1, Stretch(tokens, token, functools.reduce(ops.logical_or, ended), state)

    tokens = ops.zeros((ops.shape(token)[0], length), dtype="int32")
    start = Stretch(tokens, token, limits == first, state)
    return ops.while_loop(proceed, extend, (first, start), maximum_iterations=length)[1]


def highest(logits: Tensor) -> Tensor:
    """Return the first index of the highest value of logits (..., V).

    XLA compiles this to much faster code than argmax.
    """
    size = logits.shape[-1]
    below = ops.less(logits, ops.max(logits, axis=-1, keepdims=True))
    return ops.min(ops.where(below, size, ops.arange(size)), axis=-1)


def forced(prefix: Tensor, position: Tensor) -> Tensor:
    """Return the token of a prefix (B, P) that each row must have at this position (B,); 0 is any token."""
    here = ops.equal(ops.arange(ops.shape(prefix)[1]), position)
    return ops.sum(ops.where(here[None, :], prefix, 0), axis=1)
