"""Rows of ids as one padded array, and back.

B rows, T length.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def padded(
    rows: Sequence[Sequence[int] | NDArray[Any]], length: int | None = None, pad_id: int = 0
) -> NDArray[np.int32]:
    """Return rows of ids as an array (B, T), padded with `pad_id` to `length` or to the longest row."""
    if length is None:
        length = max(map(len, rows), default=0)
    filled = np.full((len(rows), length), pad_id, np.int32)
    for index, row in enumerate(rows):
        filled[index, : len(row)] = row
    return filled


def without_padding(ids: Sequence[int]) -> list[int]:
    """Return a row without the zeros at its end."""
    return list(ids[: max((index + 1 for index, number in enumerate(ids) if number), default=0)])
