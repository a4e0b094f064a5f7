"""One seed for a layer, a different one for each thing in it that draws at random."""

import numpy as np


def spawn(seed: int | None, count: int) -> list[int | None]:
    """`count` seeds derived from one; none at all where none was given."""
    if seed is None:
        return [None] * count
    return [int(state) for state in np.random.SeedSequence(seed).generate_state(count) >> 1]
