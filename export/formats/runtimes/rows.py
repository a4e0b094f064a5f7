"""Rows as what a runtime takes, and back. Nothing here needs a framework.

B batch, S source length.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Rows = Sequence[Sequence[int]]


def check_lengths(rows: Rows, longest: int) -> None:
    """Refuse what the network knows no positions for."""
    for place, row in enumerate(rows):
        if len(row) > longest:
            raise ValueError(
                f"a source has at most {longest} tokens, its end included; row {place} has {len(row)}. "
                f"Cut it: encode_source(texts, {longest})."
            )


def padded(rows: Rows) -> NDArray[np.int32]:
    """-> (B, S), filled up with 0 to the longest row."""
    filled = np.zeros((len(rows), max(map(len, rows), default=0)), np.int32)
    for place, row in enumerate(rows):
        filled[place, : len(row)] = row
    return filled


def without_padding(ids: Sequence[int]) -> list[int]:
    """The row, but for the zeros that fill it up."""
    return list(ids[: max((place + 1 for place, number in enumerate(ids) if number), default=0)])
