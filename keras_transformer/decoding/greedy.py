"""Greedy decoding: at every step the token with the highest logit.

B batch, L the most tokens a row may have, P prefix length, V vocabulary.
"""

from collections.abc import Callable
from typing import Any

from keras import ops

Tensor = Any
State = Any
Step = Callable[[Tensor, Tensor, State], tuple[Tensor, State]]


def greedy(
    step: Step,
    state: State,
    batch: Tensor,
    length: Tensor,
    start_id: int,
    end_id: int,
    limits: Tensor | None = None,
    prefix: Tensor | None = None,
) -> Tensor:
    """-> (B, length) token ids: each row up to and with end_id, then 0.

    `step` takes the last token (B,), its position () and the state, and gives logits (B, V) and the new
    state. It is called until every row has ended, `length` times at most. `limits` (B,) are the most tokens
    of each row; `prefix` (B, P), 0 behind each row's own, is what they begin with.
    """
    slots = ops.arange(length)

    def proceed(position: Tensor, token: Tensor, ended: Tensor, tokens: Tensor, state: State) -> Tensor:
        return ops.logical_not(ops.all(ended))

    def extend(position: Tensor, token: Tensor, ended: Tensor, tokens: Tensor, state: State) -> Any:
        logits, state = step(token, position, state)
        token = highest(logits)
        if prefix is not None:
            said = forced(prefix, position)
            token = ops.where(said > 0, said, token)
        token = ops.where(ended, 0, token)
        tokens = ops.where(slots[None, :] == position, token[:, None], tokens)
        ended = ops.logical_or(ended, token == end_id)
        if limits is not None:
            ended = ops.logical_or(ended, position + 1 >= limits)
        return position + 1, token, ended, tokens, state

    start = (
        ops.convert_to_tensor(0),
        ops.full((batch,), start_id, dtype="int32"),
        ops.zeros((batch,), dtype="bool") if limits is None else ops.less_equal(limits, 0),
        ops.zeros((batch, length), dtype="int32"),
        state,
    )
    return ops.while_loop(proceed, extend, start, maximum_iterations=length)[3]


def highest(logits: Tensor) -> Tensor:
    """(..., V) -> the first index of the highest value. XLA makes far faster code of this than of argmax."""
    size = logits.shape[-1]
    below = ops.less(logits, ops.max(logits, axis=-1, keepdims=True))
    return ops.min(ops.where(below, size, ops.arange(size)), axis=-1)


def forced(prefix: Tensor, position: Tensor) -> Tensor:
    """(B, P) -> (B,): what each row must say at this position; 0 is anything."""
    here = ops.equal(ops.arange(ops.shape(prefix)[1]), position)
    return ops.sum(ops.where(here[None, :], prefix, 0), axis=1)
