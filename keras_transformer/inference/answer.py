"""The result of decoding one source, the same for every runtime and without a framework."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from keras_transformer.text.sentences import Parts


class DecodingError(RuntimeError):
    """Error of a source that could not be decoded, with the length of the source and the reason."""


class Answer(NamedTuple):
    """One translation of a source, as token ids.

    Attributes:
        ids: Token ids, with the end id if the model generated it; empty for a source without tokens.
        score: Sum of the log-probabilities / length ** length penalty; 0 for an empty answer; NaN if they
            were not computed.
        log_probs: Natural log-probability of each id, from runtimes that report them.
        looped: Whether the loop guard found that it repeats itself, or does not end.
    """

    ids: list[int]
    score: float
    log_probs: Sequence[float] = ()
    looped: bool = False


class Translation(NamedTuple):
    """Translation of one text.

    Attributes:
        text: The translation.
        looped: Whether the loop guard found that it, or one of its parts, repeats itself or does not end.
    """

    text: str
    looped: bool

    @classmethod
    def joined(cls, parts: Parts, translations: Iterable[tuple[str, bool]]) -> Self:
        """Join the translations of the parts of a text."""
        pairs = list(translations)
        return cls(parts.joined([text for text, _ in pairs]), any(looped for _, looped in pairs))
