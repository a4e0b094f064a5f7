"""Why a request is not answered, as gRPC says it: the one place where errors become codes."""

import logging
from typing import NamedTuple

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError, Message
from google.rpc.code_pb2 import Code
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status

from keras_transformer.inference.queue import QueueFullError
from keras_transformer.inference.request import End
from serving.engine.engine import EngineStoppedError
from serving.v1 import translation_pb2 as wire

_logger = logging.getLogger(__name__)

RETRY_AFTER = 0.25  # seconds at least: a queue that is full has moved on by then


class InvalidError(ValueError):
    """A request that breaks a rule; `field` is what of it does."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class UnknownModelError(LookupError):
    """There is no such model or version."""


class ClosedError(RuntimeError):
    """The server answers nothing: not yet, not at the moment or no more."""


class UnansweredError(RuntimeError):
    """A request of the engine that ended without its answer."""

    def __init__(self, end: End) -> None:
        super().__init__(end.value)
        self.end = end


class Refusal(NamedTuple):
    """What the caller is told."""

    code: Code.ValueType
    message: str
    field: str = ""  # what of the request is wrong
    retry_after: float | None = None  # seconds

    def status(self) -> Status:
        """With google.rpc's details: BadRequest, RetryInfo."""
        details: list[Message] = []
        if self.field:
            violation = BadRequest.FieldViolation(field=self.field, description=self.message)
            details.append(BadRequest(field_violations=[violation]))
        if self.retry_after is not None:
            delay = Duration()
            delay.FromMilliseconds(round(self.retry_after * 1000))
            details.append(RetryInfo(retry_delay=delay))
        found = Status(code=self.code, message=self.message)
        for each in details:
            found.details.add().Pack(each)
        return found

    def segment(self) -> wire.SegmentError:
        """The same of one text of a batch."""
        return wire.SegmentError(
            code=self.code, message=self.message, field=self.field, retry_after=self.retry_after
        )


class RefusedError(Exception):
    """A request that is not answered; the refusal is what its caller is told."""

    def __init__(self, told: Refusal) -> None:
        super().__init__(told.message)
        self.refusal = told


_ENDS = {
    End.EXPIRED: Refusal(Code.DEADLINE_EXCEEDED, "the deadline passed"),
    End.CANCELLED: Refusal(Code.CANCELLED, "nobody waits for it"),
    End.STOPPED: Refusal(Code.UNAVAILABLE, "the model stopped before it was done: repeat it"),
    End.FAILED: Refusal(Code.INTERNAL, "the model failed at this text"),
}


def refusal(error: Exception) -> Refusal:
    """Only what nobody expects is INTERNAL, and nothing is told of it but in the log."""
    match error:
        case RefusedError():
            return error.refusal
        case InvalidError():
            return Refusal(Code.INVALID_ARGUMENT, str(error), field=error.field)
        case DecodeError():
            return Refusal(Code.INVALID_ARGUMENT, "the message is damaged, or of another type")
        case UnknownModelError():
            return Refusal(Code.NOT_FOUND, str(error))
        case QueueFullError():
            after = max(RETRY_AFTER, round(error.wait, 1))
            return Refusal(Code.RESOURCE_EXHAUSTED, str(error), retry_after=after)
        case ClosedError():
            return Refusal(Code.UNAVAILABLE, str(error))
        case TimeoutError():
            return _ENDS[End.EXPIRED]
        case ConnectionError():
            return _ENDS[End.CANCELLED]
        case EngineStoppedError():
            return _ENDS[End.STOPPED]
        case UnansweredError():
            return _ENDS[error.end]
    _logger.error("a request failed", exc_info=error)
    return Refusal(Code.INTERNAL, "the server failed at this request")
