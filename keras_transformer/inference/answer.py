"""What every runtime gives for a source. Nothing here needs a framework."""

from typing import NamedTuple


class Answer(NamedTuple):
    """The greedy translation of one source."""

    ids: list[int]  # as they were said, the end included if it came to it; none for a source of no tokens
    score: float  # the mean log-probability of these, 0 if there are none
