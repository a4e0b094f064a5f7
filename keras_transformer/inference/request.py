"""A source sentence on its way through a batch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from keras_transformer.inference.answer import Answer
from keras_transformer.inference.loop_guard import LoopGuard


class End(Enum):
    """Reason why a request ended."""

    STOP = "the end token was chosen"
    LENGTH = "the answer has reached its largest length"
    LOOP = "the answer repeated itself, or did not end"
    CANCELLED = "the caller no longer waits"
    EXPIRED = "the deadline passed"
    FAILED = "encoding or a step failed"
    STOPPED = "the engine was stopped"

    @property
    def answered(self) -> bool:
        """Whether the request has an answer."""
        return self in (End.STOP, End.LENGTH, End.LOOP)


@dataclass(eq=False)
class Request:
    """A source to decode, its options, and its growing answer.

    With a beam, `tokens` and `log_probs` stay empty until the search is over. The callbacks run in the thread
    that steps the batch. All times are those of the engine's clock.
    """

    source: Sequence[int]  # with its end id
    max_tokens: int
    priority: int = 0  # higher first, then in order of arrival
    deadline: float | None = None  # time after which no work starts
    on_token: Callable[["Request"], None] | None = None
    on_end: Callable[["Request"], None] | None = None
    beam: int = 1  # rows of the batch; 1 is greedy
    length_penalty: float = 1.0
    prefix: Sequence[int] = ()  # the answer begins with these ids
    branching: bool = False  # the answers of a beam differ in the token after the prefix
    no_repeat_ngram: int = 0  # the search makes no n-gram of so many tokens twice; 0 is off
    guard: LoopGuard | None = None  # None returns loops as they are
    scores: bool = True  # whether a greedy answer has log-probabilities; those of a beam always have
    tokens: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)  # best first, once the request has ended
    end: End | None = None
    error: str = ""  # of a request that failed
    cancelled: bool = False
    submitted_at: float = 0.0
    admitted_at: float | None = None
    first_token_at: float | None = None

    def lost(self, now: float) -> End | None:
        """Return the reason why no more work should be done for this request, or None."""
        if self.cancelled:
            return End.CANCELLED
        return End.EXPIRED if self.deadline is not None and now >= self.deadline else None

    def finish(self, answers: list[Answer], end_id: int) -> None:
        """Set the answers, best first, and the end. The guard puts loops behind all others."""
        if self.guard is not None:
            answers = self.guard.checked(answers, end_id, self.length_penalty)
        best = answers[0]
        self.answers, self.tokens, self.log_probs = answers, best.ids, [*best.log_probs]
        if best.looped:
            self.end = End.LOOP
        else:
            self.end = End.STOP if best.ids[-1] == end_id else End.LENGTH
