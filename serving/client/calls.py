"""Options, batches, retries and errors of both clients."""

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypedDict

import grpc
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from grpc_status.rpc_status import from_call

from serving.v1 import translation_pb2 as wire

BATCH_TEXTS = 64  # in one message
BATCH_CHARACTERS = 2**18
JITTER = 1.5  # largest random factor of a pause
CHANNEL = (("grpc.max_receive_message_length", -1),)  # attention is large

_CODES = {code.value[0]: code for code in grpc.StatusCode}


class Options(TypedDict, total=False):
    """Fields of wire.Options, as keyword arguments."""

    model: str
    version: int
    max_output_tokens: int
    priority: wire.Priority
    scores: bool
    alignment: bool
    beam: int
    alternatives: int
    length_penalty: float
    prefix: str
    no_repeat_ngram: int
    target_language: str
    alternatives_at_prefix: bool
    loop_guard: bool


class TranslationError(RuntimeError):
    """Error of a call that failed for good.

    Args:
        code: Status code.
        message: Error text of the server.
        field: Name of the invalid field of the request, or "".
        retry_after: Seconds after which the server asks to repeat the call, or None.
    """

    def __init__(
        self, code: grpc.StatusCode, message: str, field: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(f"{code.name}: {message}")
        self.code = code
        self.field = field
        self.retry_after = retry_after

    @property
    def passes(self) -> bool:
        """Whether the call may succeed later: the server is busy, unreachable, or was shut down."""
        gone = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
        return self.code in gone or self.retry_after is not None


class ClientClosedError(TranslationError):
    """Error of a call during which the client was closed."""

    def __init__(self) -> None:
        super().__init__(grpc.StatusCode.CANCELLED, "the client was closed")

    @property
    def passes(self) -> bool:
        """Always False: a closed client stays closed."""
        return False


@contextmanager
def until_closed(closed: Callable[[], bool]) -> Iterator[None]:
    """Raise ClientClosedError for any error inside that comes from closing the client."""
    try:
        yield
    except (TranslationError, ValueError, grpc.aio.UsageError, asyncio.CancelledError) as error:
        if closed() and _by_closing(error):
            raise ClientClosedError from error
        raise


@dataclass(frozen=True)
class Retries:
    """Repetitions of a call: each pause is twice the last one, times a random factor of 1 to 1.5.

    Attributes:
        times: Largest number of repetitions.
        first: Seconds before the first repetition, without the random factor.
        most: Largest number of seconds before any repetition, with the random factor, unless the server asks
            for more.

    Example:
        ```python
        client = Client("127.0.0.1:50051", retries=Retries(times=2))
        ```
    """

    times: int = 4
    first: float = 0.1
    most: float = 5.0

    def pause(self, index: int, error: TranslationError) -> float:
        """Return the pause before a repetition.

        Args:
            index: Index of the repetition, from 0.
            error: The error of the last attempt.

        Returns:
            Seconds, at least the error's retry_after.
        """
        seconds = min(self.first * 2**index, self.most / JITTER)  # the longest pauses vary too
        return max(seconds, error.retry_after or 0.0) * random.uniform(1.0, JITTER)


class Attempts:
    """A call and its repetitions, within one deadline."""

    def __init__(self, retries: Retries, timeout: float | None) -> None:
        self._retries = retries
        self._until = None if timeout is None else time.monotonic() + timeout
        self._made = 0
        self.begun = False

    def left(self) -> float | None:
        """Return the seconds until the deadline, or None without one."""
        return None if self._until is None else max(0.0, self._until - time.monotonic())

    def pause(self, error: TranslationError) -> float:
        """Return the seconds before the call is repeated.

        Raises:
            TranslationError: The given error, if the call is not repeated.
        """
        pause = self._retries.pause(self._made, error)
        left = self.left()
        over = self.begun or self._made == self._retries.times or (left is not None and pause >= left)
        if over or not error.passes:
            raise error
        self._made += 1
        return pause


class TextBatch:
    """Texts of one message, and their translations so far."""

    def __init__(self, texts: Sequence[str], options: wire.Options) -> None:
        self._texts = texts
        self._options = options
        self._answers: dict[int, wire.Translation] = {}

    @property
    def missing(self) -> list[int]:
        """Indices of the texts without a translation."""
        return [index for index in range(len(self._texts)) if index not in self._answers]

    @property
    def answers(self) -> list[wire.Translation]:
        """Translations of all texts, in order."""
        return [self._answers[index] for index in range(len(self._texts))]

    def request(self) -> wire.BatchTranslateRequest:
        """Return the request for the missing translations."""
        texts = [self._texts[index] for index in self.missing]
        return wire.BatchTranslateRequest(texts=texts, options=self._options)

    def take(self, response: wire.BatchTranslateResponse) -> None:
        """Store the translations of a response.

        Raises:
            TranslationError: For the first text that failed; a text that failed for good comes first.
        """
        errors = []
        for index, segment in zip(self.missing, response.segments, strict=True):
            if segment.HasField("translation"):
                self._answers[index] = segment.translation
            else:
                errors.append(_segment_failure(self._texts[index], segment.error))
        if errors:
            raise min(errors, key=lambda error: error.passes)


def batches(texts: Sequence[str], options: wire.Options) -> Iterator[TextBatch]:
    """Divide texts into batches of one message each."""
    begin = characters = 0
    for index, text in enumerate(texts):
        full = index - begin == BATCH_TEXTS or characters + len(text) > BATCH_CHARACTERS
        if full and index > begin:
            yield TextBatch(texts[begin:index], options)
            begin, characters = index, 0
        characters += len(text)
    if begin < len(texts):
        yield TextBatch(texts[begin:], options)


def failure(error: Any) -> TranslationError:
    """Convert a grpc.RpcError to a TranslationError."""
    if isinstance(error, TranslationError):
        return error
    field, retry_after = "", None
    status = from_call(error)
    for detail in status.details if status else ():
        if detail.Is(BadRequest.DESCRIPTOR):
            violations = BadRequest.FromString(detail.value).field_violations
            field = violations[0].field if violations else ""
        elif detail.Is(RetryInfo.DESCRIPTOR):
            retry_after = RetryInfo.FromString(detail.value).retry_delay.ToTimedelta().total_seconds()
    return TranslationError(error.code(), error.details() or "", field, retry_after)


def _by_closing(error: BaseException) -> bool:
    match error:
        case TranslationError():
            return error.passes
        case asyncio.CancelledError():  # of the call, not of the caller's task
            task = asyncio.current_task()
            return task is None or not task.cancelling()
    return True  # the channel was closed before the call


def _segment_failure(text: str, error: wire.SegmentError) -> TranslationError:
    shown = text if len(text) <= 40 else f"{text[:40]}..."
    retry_after = error.retry_after if error.HasField("retry_after") else None
    return TranslationError(_CODES[error.code], f"{error.message} ({shown!r})", error.field, retry_after)
