"""What every runtime returns for a source. Nothing here needs a framework."""

from collections.abc import Sequence
from typing import NamedTuple


class DecodingError(RuntimeError):
    """A source could not be decoded: the length of the source, and why."""


class Answer(NamedTuple):
    """One translation of a source, as token ids."""

    ids: list[int]  # with the end id where the model came to it; empty for a source without tokens
    score: float  # sum of the log-probabilities / length ** length penalty; 0 for an empty answer
    log_probs: Sequence[float] = ()  # one for each id, from runtimes that report them
