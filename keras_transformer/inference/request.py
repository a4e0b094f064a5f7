"""One sentence on its way through a batch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from keras_transformer.inference.answer import Answer


class End(Enum):
    """How a request ended."""

    STOP = "the end token was chosen"
    LENGTH = "the answer has all the tokens that it may have"
    CANCELLED = "the caller no longer waits"
    EXPIRED = "the deadline passed"
    FAILED = "encoding or a step failed"
    STOPPED = "the engine was stopped"


@dataclass(eq=False)
class Request:
    """A source to decode, its options, and its answer as it grows.

    With a beam, `tokens` and `log_probs` stay empty until the search is over. The callbacks run in the
    thread that steps the batch. All times are those of the engine's clock.
    """

    source: Sequence[int]  # with its end id
    max_tokens: int
    priority: int = 0  # higher goes first, then first come, first served
    deadline: float | None = None  # no work starts after it
    on_token: Callable[["Request"], None] | None = None
    on_end: Callable[["Request"], None] | None = None
    beam: int = 1  # rows of the batch; 1 is greedy
    length_penalty: float = 1.0
    prefix: Sequence[int] = ()  # the answer begins with these ids
    tokens: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)  # best first, once the request has ended
    end: End | None = None
    error: str = ""  # why it failed
    cancelled: bool = False
    submitted_at: float = 0.0
    admitted_at: float | None = None
    first_token_at: float | None = None

    @property
    def chooses(self) -> bool:
        """Whether its search needs candidates, not just the likeliest token."""
        return self.beam > 1 or bool(self.prefix)

    def lost(self, now: float) -> End | None:
        """Return why no more work should be done for this request, if so."""
        if self.cancelled:
            return End.CANCELLED
        return End.EXPIRED if self.deadline is not None and now >= self.deadline else None
