"""Limits of a request."""

from dataclasses import asdict, dataclass

from serving.errors import InvalidError

MAX_NAME = 255  # characters: a directory's name has no more
SPLIT = "Split it into several requests."


@dataclass(frozen=True)
class Limits:
    """Limits of a server. A model's own lengths are no limits, since longer sentences are divided.

    Attributes:
        characters: Of a text.
        tokens: Of a text, the ends of its parts included.
        segments: Texts of a batch.
        message_bytes: Bytes of a message.

    Raises:
        ValueError: A limit is less than 1.
    """

    characters: int = 5_000
    tokens: int = 2_048
    segments: int = 128
    message_bytes: int = 4 * 2**20

    def __post_init__(self) -> None:
        wrong = [f"{name} {value}" for name, value in asdict(self).items() if value < 1]
        if wrong:
            raise ValueError(f"a limit must be at least 1; got {', '.join(wrong)}")

    def check_text(self, text: str) -> None:
        """Check a text before anything is done with it."""
        _check("text", len(text), "characters", self.characters)

    def check_tokens(self, tokens: int, parts: int, queue: int) -> None:
        """Check a text that is divided; all of its parts must have room in the queue of an engine."""
        _check("text", tokens, "tokens", self.tokens)
        _check("text", parts, "sentences", queue)

    def check_segments(self, segments: int) -> None:
        """Check the number of texts of a batch."""
        _check("texts", segments, "items", self.segments, "Send several batches.")

    def check_weights(self, size: int) -> None:
        """Check the bytes of all attention weights of an answer."""
        _check("text", size, "bytes of attention weights", self.message_bytes)


def _check(field: str, number: int, unit: str, limit: int, remedy: str = SPLIT) -> None:
    if number > limit:
        raise InvalidError(field, f"{field} has {number:,} {unit}; the limit is {limit:,}. {remedy}")


def check_name(field: str, name: str, kind: str) -> None:
    """Check the length of a name, which error messages repeat."""
    if len(name) > MAX_NAME:
        raise InvalidError(field, f"{field} has {len(name):,} characters; {kind} has at most {MAX_NAME}.")
