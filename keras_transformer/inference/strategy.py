"""A strategy takes the results of each step, and decides how the rows of its request go on."""

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
    """The results of one step for all rows of a batch."""

    tokens: list[int]
    log_probs: list[float]
    continuations: Continuations | None  # None if no search needs them


class Move(NamedTuple):
    """How a row goes on if not with its own likeliest token."""

    row: int
    parent: int  # the row whose state it goes on from
    token: int


class Strategy(Protocol):
    """The search for the answers of one request, which has `request.beam` rows of the batch.

    Attributes:
        scores: the sums of the log-probabilities so far, in the order of the rows.
    """

    @property
    def scores(self) -> Sequence[float]: ...

    def advance(self, choices: Choices, rows: list[int]) -> Sequence[Move]:
        """Take one step. When the search is over, set the end and the answers of the request.

        Args:
            choices: the results of all rows.
            rows: those of the request, in an order that the strategy may change.

        Returns:
            The moves of these rows: no row is the parent of another and moves itself.
        """
        ...
