"""The encoder's output of all rows, stored without gaps, because the attention to it reads all of it.

P parts (the keys and values of the layers), N slots, B rows, H heads, S source length, C capacity, K width of
a head.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

GRANULE = 8  # positions by which a capacity grows or shrinks, so that few different ones occur
PATIENCE = 32  # steps before rows are moved together again, which takes as long as half a step


class MemoryRows:
    """Memory of up to N rows in one buffer that never moves, and holds C positions for each row.

    C follows the longest source among the rows: a step over buffers for much longer sources takes a quarter
    more time, because the processor fetches ahead only what lies close together.

    Attributes:
        capacity: C, an array () whose address stays.
        values: View (P, N, H, C, K) of the buffer.

    Args:
        shape: (P, N, H, longest S, K).
        kind: Type of the values.
    """

    def __init__(self, shape: tuple[int, int, int, int, int], kind: type[np.generic]) -> None:
        self._shape = shape
        parts, slots, heads, longest, head = shape
        self._buffer: NDArray[Any] = np.zeros((parts, slots * heads * longest * head), kind)
        self._steps = 0  # since the capacity was changed
        self.capacity = np.array(longest, np.int32)
        self.values = self._view(longest)

    def reserve(self, length: int, rows: int) -> None:
        """Make room for sources of up to `length` positions, and keep the first `rows` rows."""
        longest = self._shape[3]
        capacity, current = min(longest, -(-length // GRANULE) * GRANULE), int(self.capacity)
        if capacity == current or (rows and capacity < current and self._steps < PATIENCE):
            return
        moved = self._view(capacity)
        kept = min(capacity, current)
        for old, new in zip(self.values, moved, strict=True):
            new[:rows, :, :kept] = old[:rows, :, :kept]  # they overlap, which NumPy allows
        self.values, self._steps = moved, 0
        self.capacity[...] = capacity

    def count_step(self) -> None:
        """Count a step since the capacity was changed."""
        self._steps += 1

    def _view(self, capacity: int) -> NDArray[Any]:
        parts, slots, heads, _, head = self._shape
        used = self._buffer[:, : slots * heads * capacity * head]
        return used.reshape(parts, slots, heads, capacity, head)
