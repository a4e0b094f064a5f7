"""The interface between a batch and a runtime: rows decoded together, each at its own position.

B rows, N candidates of a row, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
Floats = NDArray[np.float32]
Encoded = Sequence[Any]  # arrays that the backend's encoder returns; axis 1 is the sentence


class Candidates(NamedTuple):
    """Candidates for the next token of every row, from which a search other than plain greedy chooses.

    The next call of `log_probs` may overwrite the log-probabilities.

    Attributes:
        log_probs: Log-probability of every token (B, V).
        highest: The N highest log-probabilities of each row, in descending order (B, N).
        tokens: The tokens that have them (B, N).
    """

    log_probs: Floats
    highest: Floats
    tokens: NDArray[np.int64]


class StepResult(NamedTuple):
    """Result of one step. The arrays are views that the next step may overwrite.

    Attributes:
        tokens: The likeliest token of each row (B,).
        logits: Their logits (B,), or log-probabilities; that of a row that failed is not finite.
    """

    tokens: Ids
    logits: Floats


class Backend(Protocol):
    """Runtime that holds rows 0 to B - 1 in the order of their admission.

    A call that raises an exception leaves the rows unchanged.

    Attributes:
        slots: Maximum of B.
        has_candidates: Whether it returns candidates; otherwise it decodes greedily, and without prefixes.
    """

    slots: int
    has_candidates: bool

    def encode(self, sources: Sequence[Sequence[int]]) -> Encoded:
        """Encode sources of one length, each with its end id."""
        ...

    def admit(self, encoded: Encoded, copies: int = 1) -> None:
        """Append `copies` rows for each encoded sentence."""
        ...

    def step(self) -> StepResult:
        """Decode the next token of every row."""
        ...

    def step_alone(self, row: int) -> StepResult:
        """Decode the next token of one row (B = 1); the others do not change."""
        ...

    def log_probs(self) -> Floats:
        """Return the log-probability (B,) of the likeliest token of each row, after each row's last step."""
        ...

    def candidates(self, count: int) -> Candidates:
        """Return the candidates of each row, its `count` likeliest tokens, after a call of `log_probs`."""
        ...

    def follow(self, rows: Ids, parents: Ids, tokens: Ids) -> None:
        """Give each of `rows` the state of its parent row, and set its last token.

        Args:
            rows: Indices of the rows.
            parents: Index of the row whose state each of them continues.
            tokens: The last token of each of them.
        """
        ...

    def retire(self, row: int) -> None:
        """Remove a row. The last row takes its index."""
        ...
