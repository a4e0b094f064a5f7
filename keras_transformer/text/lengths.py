"""How long an answer may become, and rows of like length beside each other, so that little is padding.

Nothing here needs a framework: every runtime asks it.
"""

from collections.abc import Iterator, Sequence

Rows = Sequence[Sequence[int]]


def longest_answer(source_length: int) -> int:
    """The most target tokens that a source of so many tokens is given."""
    return 2 * source_length + 10


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
