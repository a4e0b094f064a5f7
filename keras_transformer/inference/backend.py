"""What a batch needs of a runtime: rows that are decoded together, each at a position of its own.

B rows, N candidates of a row, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
Floats = NDArray[np.float32]
Encoded = Sequence[Any]  # arrays as the backend's encoder gives them; axis 1 counts the sentences


class Candidates(NamedTuple):
    """What a beam chooses from, in every row. The next step may overwrite the log-probabilities."""

    log_probs: Floats  # (B, V)
    highest: Floats  # (B, N): the N highest of these, the highest first
    tokens: NDArray[np.int64]  # (B, N): whose they are


class StepResult(NamedTuple):
    """The result of one step. The arrays are views that the next step may overwrite."""

    tokens: Ids  # (B,): the likeliest token of each row
    log_probs: Floats  # (B,)


class Backend(Protocol):
    """Rows 0 to B - 1 of a runtime, in the order of their admission.

    A call that raises has changed nothing.
    """

    slots: int  # the maximum of B
    has_candidates: bool  # otherwise it decodes greedily, and without prefixes

    def encode(self, sources: Sequence[Sequence[int]]) -> Encoded:
        """Encode sources of one length, each with its end id."""
        ...

    def admit(self, encoded: Encoded, copies: int = 1) -> None:
        """Add `copies` rows for each encoded sentence behind the rows that are there."""
        ...

    def step(self) -> StepResult:
        """Decode the next token of every row."""
        ...

    def step_alone(self, row: int) -> StepResult:
        """Decode the next token of one row (B = 1), while the others stand still."""
        ...

    def candidates(self, count: int) -> Candidates:
        """Return what each row can continue with after the last step: its `count` likeliest tokens."""
        ...

    def follow(self, rows: Ids, parents: Ids, tokens: Ids) -> None:
        """Let each of `rows` go on from the state of its parent, with this token as its last one."""
        ...

    def retire(self, row: int) -> None:
        """Drop a row. The last row takes its number."""
        ...
