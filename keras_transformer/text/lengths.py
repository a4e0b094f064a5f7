"""The maximum length of an answer, and batches of rows of similar length, which need little padding.

Nothing here needs a framework: every runtime uses it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

Rows = Sequence[Sequence[int]]


class AnswerLimit(NamedTuple):
    """The longest answer to n source tokens: factor * n + extra tokens."""

    factor: int = 2
    extra: int = 10

    def __call__(self, source_length: int) -> int:
        """Return the limit for a source of so many tokens."""
        return self.factor * source_length + self.extra


ANSWER_LIMIT = AnswerLimit()  # of every model that does not say otherwise


def longest_answer(source_length: int) -> int:
    """Return the maximum number of target tokens for a source of so many tokens."""
    return ANSWER_LIMIT(source_length)


def check_lengths(rows: Rows, max_length: int) -> None:
    """Refuse rows that are longer than the positions of a network.

    Raises:
        ValueError: a row has more than `max_length` tokens.
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
        rows: token ids. A row that is empty, or has nothing but its end, has no answer and is in no batch.
        budget_tokens: tokens of a batch, padding included. A longer row is a batch of its own.
        end_id: the token that ends a row.
    """
    return by_length([0 if list(row) == [end_id] else len(row) for row in rows], budget_tokens)


def by_length(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield the indices of each batch for items of these lengths. Items of length 0 are left out."""
    order = [index for index, length in enumerate(lengths) if length]
    order.sort(key=lambda index: lengths[index], reverse=True)
    while order:
        size = max(1, budget // lengths[order[0]])
        yield order[:size]
        order = order[size:]
