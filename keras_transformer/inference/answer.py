"""The result of decoding one source, the same for every runtime and without a framework."""

from collections.abc import Sequence
from typing import NamedTuple


class DecodingError(RuntimeError):
    """Error of a source that could not be decoded, with the length of the source and the reason."""


class Answer(NamedTuple):
    """One translation of a source, as token ids.

    Attributes:
        ids: Token ids, with the end id if the model generated it; empty for a source without tokens.
        score: Sum of the log-probabilities / length ** length penalty; 0 for an empty answer.
        log_probs: Natural log-probability of each id, from runtimes that report them.
    """

    ids: list[int]
    score: float
    log_probs: Sequence[float] = ()
