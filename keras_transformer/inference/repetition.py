"""What a partial answer must not continue with, so that no n-gram of it occurs twice."""

from collections.abc import Sequence

import numpy as np

from keras_transformer.inference.backend import Floats


def repeating(ids: Sequence[int], size: int) -> set[int]:
    """Return the tokens that would end an n-gram of `size` tokens that is in the ids already."""
    last = list(ids[len(ids) - size + 1 :]) if size > 1 else []
    begins = range(len(ids) - size + 1)
    return {ids[begin + size - 1] for begin in begins if list(ids[begin : begin + size - 1]) == last}


def likeliest(log_probs: Floats, without: set[int], count: int) -> list[int]:
    """Return up to `count` of the likeliest tokens (V,), the likeliest first; of equal ones the first."""
    allowed = log_probs.copy()
    allowed[list(without)] = -np.inf
    count = min(count, len(allowed) - len(without))
    chosen = np.argpartition(-allowed, count - 1)[:count]
    order: list[int] = chosen[np.lexsort((chosen, -allowed[chosen]))].tolist()
    return order
