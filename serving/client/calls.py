"""What the two clients share: what is sent, what may be repeated and when, and what is told of a failure."""

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
CHANNEL = (("grpc.max_receive_message_length", -1),)  # attention is large

_CODES = {code.value[0]: code for code in grpc.StatusCode}


class Options(TypedDict, total=False):
    """wire.Options, by their names."""

    model: str
    version: int
    max_output_tokens: int
    priority: wire.Priority
    scores: bool
    alignment: bool


class TranslationError(RuntimeError):
    """A call that failed for good."""

    def __init__(
        self, code: grpc.StatusCode, message: str, field: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(f"{code.name}: {message}")
        self.code = code
        self.field = field  # what of the request is wrong
        self.retry_after = retry_after  # seconds, if the server has said when

    @property
    def passes(self) -> bool:
        """Whether the same may go well later: the server said when, is not there, or went at that moment."""
        gone = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
        return self.code in gone or self.retry_after is not None


class ClientClosedError(TranslationError):
    """A call that was under way, or about to be repeated, when its client was closed."""

    def __init__(self) -> None:
        super().__init__(grpc.StatusCode.CANCELLED, "the client was closed")

    @property
    def passes(self) -> bool:
        """Never: it stays closed."""
        return False


@contextmanager
def until_closed(closed: Callable[[], bool]) -> Iterator[None]:
    """What fails because the client was closed meanwhile is told as that, whatever gRPC makes of it."""
    try:
        yield
    except (TranslationError, ValueError, grpc.aio.UsageError, asyncio.CancelledError) as error:
        if closed() and _by_closing(error):
            raise ClientClosedError from error
        raise


@dataclass(frozen=True)
class Retries:
    """How often a call is repeated, and how long is waited before: each time twice as long, and never in step
    with others who were refused at the same moment."""

    times: int = 4
    first: float = 0.1  # seconds
    most: float = 5.0

    def pause(self, time: int, error: TranslationError) -> float:
        """Before the repetition of this number, from 0."""
        usual = min(self.first * 2**time, self.most)
        return max(usual, error.retry_after or 0.0) * random.uniform(1.0, 1.5)


class Attempts:
    """One call and its repetitions, within one deadline."""

    def __init__(self, retries: Retries, timeout: float | None) -> None:
        self._retries = retries
        self._until = None if timeout is None else time.monotonic() + timeout
        self._made = 0

    def left(self) -> float | None:
        """Seconds; None is no deadline."""
        return None if self._until is None else max(0.0, self._until - time.monotonic())

    def pause(self, error: TranslationError) -> float:
        """How long to wait before it is repeated; or the error, if it is not."""
        pause = self._retries.pause(self._made, error)
        left = self.left()
        if not error.passes or self._made == self._retries.times or (left is not None and pause >= left):
            raise error
        self._made += 1
        return pause


class TextBatch:
    """Texts that are sent together, until each has its translation."""

    def __init__(self, texts: Sequence[str], options: wire.Options) -> None:
        self._texts = texts
        self._options = options
        self._found: dict[int, wire.Translation] = {}

    @property
    def missing(self) -> list[int]:
        """The places of those without one."""
        return [place for place in range(len(self._texts)) if place not in self._found]

    @property
    def found(self) -> list[wire.Translation]:
        """All of them, in order."""
        return [self._found[place] for place in range(len(self._texts))]

    def request(self) -> wire.BatchTranslateRequest:
        """For what is missing."""
        return wire.BatchTranslateRequest(
            texts=[self._texts[place] for place in self.missing], options=self._options
        )

    def take(self, response: wire.BatchTranslateResponse) -> None:
        """What was answered is kept; or the error of the first text that was not, the lasting ones first."""
        errors = []
        for place, segment in zip(self.missing, response.segments, strict=True):
            if segment.HasField("translation"):
                self._found[place] = segment.translation
            else:
                errors.append(_of_segment(self._texts[place], segment.error))
        if errors:
            raise min(errors, key=lambda error: error.passes)


def batches(texts: Sequence[str], options: wire.Options) -> Iterator[TextBatch]:
    """As many texts as a message should have."""
    begin = characters = 0
    for place, text in enumerate(texts):
        full = place - begin == BATCH_TEXTS or characters + len(text) > BATCH_CHARACTERS
        if full and place > begin:
            yield TextBatch(texts[begin:place], options)
            begin, characters = place, 0
        characters += len(text)
    if begin < len(texts):
        yield TextBatch(texts[begin:], options)


def failure(error: Any) -> TranslationError:
    """What a grpc.RpcError says."""
    field, retry_after = "", None
    status = from_call(error)
    for detail in status.details if status else ():
        if detail.Is(BadRequest.DESCRIPTOR):
            wrong = BadRequest.FromString(detail.value)
            field = wrong.field_violations[0].field if wrong.field_violations else ""
        elif detail.Is(RetryInfo.DESCRIPTOR):
            retry_after = RetryInfo.FromString(detail.value).retry_delay.ToTimedelta().total_seconds()
    return TranslationError(error.code(), error.details() or "", field, retry_after)


def _by_closing(error: BaseException) -> bool:
    match error:
        case TranslationError():
            return error.passes
        case asyncio.CancelledError():  # of the call; or of the caller, which is none of our business
            task = asyncio.current_task()
            return task is None or not task.cancelling()
    return True  # a call by a channel that is closed


def _of_segment(text: str, error: wire.SegmentError) -> TranslationError:
    shown = text if len(text) <= 40 else f"{text[:40]}..."
    retry_after = error.retry_after if error.HasField("retry_after") else None
    return TranslationError(_CODES[error.code], f"{error.message} ({shown!r})", error.field, retry_after)
