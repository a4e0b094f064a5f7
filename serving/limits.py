"""Limits of a request."""

from dataclasses import asdict, dataclass

from serving.errors import InvalidError

MAX_NAME = 255  # characters, the maximum for the name of a directory
SPLIT = "Split it into several requests."


@dataclass(frozen=True)
class Limits:
    """Limits of a server. A model's own lengths are not limits, because longer sentences are divided.

    Attributes:
        characters: Largest number of characters of a text.
        tokens: Largest number of tokens of a text, including the end ids of its parts.
        segments: Largest number of texts of a batch.
        message_bytes: Largest size of a message.

    Raises:
        ValueError: If a limit is less than 1.
    """

    characters: int = 5_000
    tokens: int = 2_048
    segments: int = 128
    message_bytes: int = 4 * 2**20

    def __post_init__(self) -> None:
        wrong = [f"{name} {value}" for name, value in asdict(self).items() if value < 1]
        if wrong:
            raise ValueError(f"a limit must be at least 1; got {', '.join(wrong)}")

    def check_segments(self, segments: int) -> None:
        """Check the number of texts of a batch."""
        check_size("texts", segments, "items", self.segments, "Send several batches.")


def check_size(field: str, number: int, unit: str, limit: int, remedy: str = SPLIT) -> None:
    """Check the size of a field, counted in this unit.

    Raises:
        InvalidError: If it is above the limit.
    """
    if number > limit:
        raise InvalidError(field, f"{field} has {number:,} {unit}; the limit is {limit:,}. {remedy}")


def check_name(field: str, name: str, kind: str) -> None:
    """Check the length of a name that error messages repeat.

    Raises:
        InvalidError: If it is too long.
    """
    if len(name) > MAX_NAME:
        raise InvalidError(field, f"{field} has {len(name):,} characters; {kind} has at most {MAX_NAME}.")
