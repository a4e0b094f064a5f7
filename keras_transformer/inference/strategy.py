"""The interface of a search strategy, which decides after each step how the rows of its request continue."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from keras_transformer.inference.backend import Candidates


class Choices(NamedTuple):
    """Results of one step for all rows of a batch."""

    tokens: Sequence[int]
    log_probs: Sequence[float]
    candidates: Candidates | None


class Move(NamedTuple):
    """Continuation of a row with another state or token than its own likeliest one.

    Attributes:
        row: Index of the row.
        parent: Index of the row whose state it continues.
        token: Its last token.
    """

    row: int
    parent: int
    token: int


class Strategy(Protocol):
    """Search for the answers of one request, which has `request.beam` rows of the batch."""

    def advance(self, choices: Choices, rows: list[int]) -> Sequence[Move]:
        """Process the results of one step; when the search is over, set the end and the answers.

        Args:
            choices: Results of all rows.
            rows: Rows of the request, in an order that the strategy may change.

        Returns:
            The moves of these rows. A row that is a parent of another one does not move itself.
        """
        ...
