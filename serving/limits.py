"""What a request may have."""

from dataclasses import asdict, dataclass

from serving.errors import InvalidError

LONGEST_NAME = 255  # characters: a directory's name has no more


@dataclass(frozen=True)
class Limits:
    """A server's own; those of a model beside them are no limits, since longer sentences are divided."""

    characters: int = 5_000  # of a text
    tokens: int = 2_048  # of a text, the ends of its parts included
    segments: int = 128  # texts of a batch
    message_bytes: int = 4 * 2**20

    def __post_init__(self) -> None:
        wrong = [f"{name} {value}" for name, value in asdict(self).items() if value < 1]
        if wrong:
            raise ValueError(f"a limit must be at least 1; got {', '.join(wrong)}")

    def check_text(self, text: str) -> None:
        """Before anything is done with it."""
        if len(text) > self.characters:
            raise InvalidError(
                "text", f"it has {len(text):,} characters, and {self.characters:,} are taken: divide it"
            )

    def check_tokens(self, tokens: int, parts: int, queue: int) -> None:
        """Before it is asked of an engine, in whose queue all of its parts must have room."""
        if tokens > self.tokens:
            raise InvalidError("text", f"it has {tokens:,} tokens, and {self.tokens:,} are taken: divide it")
        if parts > queue:
            raise InvalidError("text", f"it has {parts:,} sentences, and {queue:,} are taken: divide it")

    def check_segments(self, segments: int) -> None:
        """Of a batch."""
        if segments > self.segments:
            raise InvalidError(
                "texts", f"there are {segments:,}, and {self.segments:,} are taken: send several batches"
            )

    def check_weights(self, size: int) -> None:
        """The bytes of all attention in an answer."""
        if size > self.message_bytes:
            raise InvalidError(
                "text", f"its attention has {size:,} bytes, and a message {self.message_bytes:,}: divide it"
            )


def check_name(field: str, name: str, whose: str) -> None:
    """What is unknown is told back, and that has to be small."""
    if len(name) > LONGEST_NAME:
        raise InvalidError(field, f"it has {len(name):,} characters, and {whose} at most {LONGEST_NAME}")
