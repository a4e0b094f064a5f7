"""What the engine needs of a runtime: rows that are decoded together, each at a position of its own."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int32]
LogProbs = NDArray[np.float32]


class Runtime(Protocol):
    """The rows are numbered as they came. A call that raises has changed nothing."""

    slots: int  # the most rows

    def admit(self, sources: Sequence[Sequence[int]]) -> None:
        """Sources of one length, each with its end; they are the rows behind those that are there."""
        ...

    def step(self) -> tuple[Tokens, LogProbs]:
        """-> of each row the next token and its log-probability; the next step may write over them."""
        ...

    def step_alone(self, row: int) -> tuple[int, float]:
        """The same of one row, while the others stand still."""
        ...

    def retire(self, row: int) -> None:
        """The row is forgotten, and the last one takes its number."""
        ...
