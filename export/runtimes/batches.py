"""Rows of like length beside each other, so that little is padding. Nothing here needs a framework.

B batch, S source length.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Rows = Sequence[Sequence[int]]


def like_lengths(rows: Rows, budget_tokens: int, end_id: int = 3) -> Iterator[list[int]]:
    """The places of the rows of each batch, the longest first; padded, a batch has at most budget_tokens.

    A row longer than the budget is a batch of its own. One that says nothing, or nothing but its end, has no
    answer and is in none.
    """
    return by_length([0 if list(row) == [end_id] else len(row) for row in rows], budget_tokens)


def by_length(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """The same for things of these lengths. What has none is left out."""
    order = [place for place, length in enumerate(lengths) if length]
    order.sort(key=lambda place: lengths[place], reverse=True)
    while order:
        size = max(1, budget // lengths[order[0]])
        yield order[:size]
        order = order[size:]


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
