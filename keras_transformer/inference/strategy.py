"""A strategy takes the results of each step, and decides how the rows of its request go on."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from keras_transformer.inference.backend import Candidates


class Choices(NamedTuple):
    """The results of one step for all rows of a batch."""

    tokens: Sequence[int]
    log_probs: Sequence[float]
    candidates: Candidates | None


class Move(NamedTuple):
    """How a row goes on if not with its own likeliest token."""

    row: int
    parent: int  # the row whose state it goes on from
    token: int


class Strategy(Protocol):
    """The search for the answers of one request, which has `request.beam` rows of the batch."""

    def advance(self, choices: Choices, rows: list[int]) -> Sequence[Move]:
        """Take one step. When the search is over, set the end and the answers of the request.

        Args:
            choices: the results of all rows.
            rows: those of the request, in an order that the strategy may change.

        Returns:
            The moves of these rows: no row is the parent of another and moves itself.
        """
        ...
