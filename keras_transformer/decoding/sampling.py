"""Sampling: choose each token at random, with the probabilities that the model gives.

B batch, L largest number of tokens of a row, V vocabulary.
"""

from collections.abc import Sequence
from math import isfinite
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_transformer.decoding.greedy import State, StepFunction, Tensor, greedy_stretch, highest
from keras_transformer.layers.arguments import check_sizes, check_whole

RESOLUTION = 2**24  # different values of a draw: as many as float32 has between 1/2 and 1


class Sampling(NamedTuple):
    """Options of sampling.

    Attributes:
        temperature: Divisor of the logits; 0 chooses the token with the highest.
        top_k: Number of likeliest tokens to choose from; None for all.
        top_p: Choose from the likeliest tokens that together have at least this probability.
        repetition_penalty: Divisor of the positive logits of tokens that a row has already, and factor of the
            negative ones.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    repetition_penalty: float = 1.0

    def check(self) -> None:
        """Raise ValueError for a value out of range."""
        check_sizes(top_k=1 if self.top_k is None else self.top_k)
        for name, rule, right in (
            ("temperature", "at least 0", lambda value: value >= 0),
            ("top_p", "above 0 and at most 1", lambda value: 0 < value <= 1),
            ("repetition_penalty", "above 0", lambda value: value > 0),
        ):
            value = getattr(self, name)
            is_number = isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
            if not (is_number and right(value)):
                raise ValueError(f"{name} must be a number {rule}; got {value!r}.")


def draw(seeds: Sequence[int], length: int) -> NDArray[np.int32]:
    """Draw the random numbers of each row.

    They depend on the row's own seed and on the place in the row alone, and are the same on every backend.

    Args:
        seeds: Seed of each row.
        length: L.

    Returns:
        Numbers from 0 to RESOLUTION - 1 (B, L).

    Raises:
        ValueError: If a seed is not a whole number of at least 0.
    """
    for seed in seeds:
        check_whole(" of at least 0", seed=seed)
        if seed < 0:
            raise ValueError(f"seed must be at least 0; got {seed}.")
    rows = [
        np.random.Generator(np.random.Philox(int(seed))).integers(RESOLUTION, size=length, dtype=np.int32)
        for seed in seeds
    ]
    return np.array(rows, np.int32).reshape(len(rows), length)


def sample(
    step: StepFunction,
    state: State,
    token: Tensor,
    length: Tensor,
    end_ids: Sequence[int],
    options: Sampling,
    draws: Tensor,
    seen: Tensor,
) -> Tensor:
    """Choose tokens one after the other.

    Args:
        step: Step function as in greedy decoding; its position counts from 0.
        state: State of the first step.
        token: Token before each answer (B,).
        length: L, ().
        end_ids: Ids of the tokens that end an answer.
        options: How tokens are chosen.
        draws: Result of `draw` (B, L).
        seen: 1 for the tokens that a row has already, otherwise 0 (B, V).

    Returns:
        Token ids (B, L): each row up to and including the first of end_ids, then 0.
    """
    if options.repetition_penalty != 1:
        step, state = _penalizing(step, options.repetition_penalty), (seen, state)

    def next_token(logits: Tensor, position: Tensor) -> Tensor:
        return choose(logits, ops.take(draws, position, axis=1), options)

    first = ops.convert_to_tensor(0)
    return greedy_stretch(step, state, token, first, length, end_ids, choose=next_token).tokens


def choose(logits: Tensor, draws: Tensor, options: Sampling) -> Tensor:
    """Choose a token of each row.

    Args:
        logits: Logits (B, V).
        draws: Random numbers from 0 to RESOLUTION - 1 (B,).
        options: How tokens are chosen; the penalty is not applied here.

    Returns:
        Token ids (B,).
    """
    if options.temperature == 0:
        return highest(logits)
    scores, ids = ops.cast(logits, "float32") / options.temperature, None
    if options.top_k is not None or options.top_p < 1:  # from the likeliest to the least likely
        scores, ids = ops.top_k(scores, min(options.top_k or logits.shape[-1], logits.shape[-1]))
    probabilities = ops.softmax(scores) if scores.shape[-1] > 1 else ops.ones_like(scores)
    sums = ops.cumsum(probabilities, axis=-1)
    if options.top_p < 1:
        probabilities = ops.where(sums - probabilities < options.top_p, probabilities, 0.0)
        sums = ops.cumsum(probabilities, axis=-1)
    share = ops.cast(draws, "float32")[:, None] / RESOLUTION
    below = ops.sum(ops.cast(sums <= share * sums[:, -1:], "int32"), axis=-1)
    last = ops.sum(ops.cast(sums < sums[:, -1:], "int32"), axis=-1)  # rounding may lead past the end
    index = ops.minimum(below, last)
    return index if ids is None else ops.cast(ops.take_along_axis(ids, index[:, None], axis=1)[:, 0], "int32")


def _penalizing(step: StepFunction, penalty: float) -> StepFunction:
    """Return a step that penalizes the tokens of a row; its state is these (B, V), and the own state."""

    def penalized(token: Tensor, position: Tensor, state: Any) -> tuple[Tensor, State]:
        seen, own = state
        logits, own = step(token, position, own)
        seen = ops.maximum(seen, ops.one_hot(token, logits.shape[-1], dtype=seen.dtype))
        lowered = ops.where(logits < 0, logits * penalty, logits / penalty)
        return ops.where(seen > 0, lowered, logits), (seen, own)

    return penalized
