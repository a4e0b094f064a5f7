"""What every runtime gives for a source."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Answer(NamedTuple):
    """The greedy translation of one source."""

    ids: list[int]  # as they were said, the end included if it came to it; none for a source of no tokens
    score: float  # the mean log-probability of these, 0 if there are none


class Runtime(Protocol):
    """A version directory opened in one runtime."""

    name: str  # as the certificate calls it: "onnx/translate", "onnx/scheduler int8", "ctranslate2"

    def translate_ids(self, rows: Sequence[Sequence[int]]) -> list[Answer]:
        """Rows of source ids, each with its end -> their answers, in this order."""
        ...
