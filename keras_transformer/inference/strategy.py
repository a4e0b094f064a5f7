"""The interface of a search strategy, which decides after each step how the rows of its request continue."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

import numpy as np

from keras_transformer.inference.backend import Candidates, Floats


class Continuations(NamedTuple):
    """What each row can continue with: N tokens a row, the likeliest first."""

    tokens: list[list[int]]
    log_probs: list[list[float]]
    sums: list[list[float]]  # with the scores of the rows, in float32
    of_all: Floats  # (B, V): the log-probabilities of all tokens

    @classmethod
    def of(cls, candidates: Candidates, scores: list[float]) -> Self:
        """Return the continuations of rows that have such scores."""
        highest = candidates.highest
        sums = highest + np.array(scores, np.float32)[:, None]
        return cls(candidates.tokens.tolist(), highest.tolist(), sums.tolist(), candidates.log_probs)


class Choices(NamedTuple):
    """Results of one step for all rows of a batch."""

    tokens: list[int]
    log_probs: list[float]  # empty if no request needs them
    continuations: Continuations | None  # None if no search needs them


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

    @property
    def scores(self) -> Sequence[float]:
        """Sums of the log-probabilities so far, in the order of the rows."""
        ...

    def advance(self, choices: Choices, rows: list[int]) -> Sequence[Move]:
        """Process the results of one step; when the search is over, set the end and the answers.

        Args:
            choices: Results of all rows.
            rows: Rows of the request, in an order that the strategy may change.

        Returns:
            The moves of these rows. A row that is a parent of another one does not move itself.
        """
        ...
