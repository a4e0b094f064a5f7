"""Greedy decoding: at every step the token with the highest logit.

B batch, L the most tokens a row may have, V vocabulary.
"""

from collections.abc import Callable
from typing import Any

from keras import ops

Tensor = Any
State = Any
Step = Callable[[Tensor, Tensor, State], tuple[Tensor, State]]


def greedy(step: Step, state: State, batch: Tensor, length: int, start_id: int, end_id: int) -> Tensor:
    """-> (B, length) token ids: each row up to and with end_id, then 0.

    `step` takes the last token (B,), its position (B,) and the state, and gives logits (B, V) and the new
    state. It is called until every row has ended, `length` times at most.
    """
    slots = ops.arange(length)

    def proceed(position: Tensor, token: Tensor, ended: Tensor, tokens: Tensor, state: State) -> Tensor:
        return ops.logical_not(ops.all(ended))

    def extend(position: Tensor, token: Tensor, ended: Tensor, tokens: Tensor, state: State) -> Any:
        logits, state = step(token, ops.full_like(token, position), state)
        token = ops.where(ended, 0, ops.cast(ops.argmax(logits, axis=-1), "int32"))
        tokens = ops.where(slots[None, :] == position, token[:, None], tokens)
        return position + 1, token, ops.logical_or(ended, token == end_id), tokens, state

    start = (
        ops.convert_to_tensor(0),
        ops.full((batch,), start_id, dtype="int32"),
        ops.zeros((batch,), dtype="bool"),
        ops.zeros((batch, length), dtype="int32"),
        state,
    )
    return ops.while_loop(proceed, extend, start, maximum_iterations=length)[3]
