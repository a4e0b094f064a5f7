"""The largest length of an answer, and batches of rows of similar length, which need little padding.

The module needs no framework, so every runtime can use it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

Rows = Sequence[Sequence[int]]


class AnswerLimit(NamedTuple):
    """Largest number of tokens of an answer to n source tokens: factor * n + extra."""

    factor: int = 2
    extra: int = 10

    def __call__(self, source_length: int) -> int:
        """Return the limit for a source of this length."""
        return self.factor * source_length + self.extra


ANSWER_LIMIT = AnswerLimit()  # the default of all models


def longest_answer(source_length: int) -> int:
    """Return the largest number of target tokens for a source of this length."""
    return ANSWER_LIMIT(source_length)


def check_lengths(rows: Rows, max_length: int) -> None:
    """Check that rows are not longer than the positions of a network.

    Raises:
        ValueError: If a row has more than `max_length` tokens.
    """
    for index, row in enumerate(rows):
        if len(row) > max_length:
            raise ValueError(
                f"a source has at most {max_length} tokens, its end included; row {index} has {len(row)}. "
                f"Cut it: encode_source(texts, {max_length})."
            )


def like_lengths(rows: Rows, budget_tokens: int, end_id: int) -> Iterator[list[int]]:
    """Yield the indices of the rows of each batch, the longest rows first.

    Args:
        rows: Token ids. A row that is empty, or has only its end id, has no answer and is in no batch.
        budget_tokens: Largest number of tokens of a batch, with padding. A longer row is a batch of its own.
        end_id: Id of the token that ends a row.
    """
    return by_length([0 if list(row) == [end_id] else len(row) for row in rows], budget_tokens)


def by_length(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield the indices of each batch for items of these lengths. Items of length 0 are omitted."""
    order = [index for index, length in enumerate(lengths) if length]
    order.sort(key=lambda index: lengths[index], reverse=True)
    while order:
        size = max(1, budget // lengths[order[0]])
        yield order[:size]
        order = order[size:]
