"""Errors of requests, and their conversion to status codes."""

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

RETRY_AFTER = 0.25  # smallest number of seconds; a full queue has room again by then


class InvalidError(ValueError):
    """Error of a request with an invalid field.

    Args:
        field: Name of the field.
        message: What is wrong, what is allowed, and what to do.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class UnknownModelError(LookupError):
    """Error of a request for a model or version that does not exist."""


class ClosedError(RuntimeError):
    """Error of a request to a server that starts, shuts down, or has no model."""


class UnansweredError(RuntimeError):
    """Error of a request that ended in the engine without an answer."""

    def __init__(self, end: End) -> None:
        super().__init__(end.value)
        self.end = end


class Refusal(NamedTuple):
    """Answer to a request that is refused.

    Attributes:
        code: Status code.
        message: What is wrong, what is allowed, and what to do.
        field: Name of the invalid field, or "".
        retry_after: Seconds after which the caller should repeat the request, or None.
    """

    code: Code.ValueType
    message: str
    field: str = ""
    retry_after: float | None = None

    def status(self) -> Status:
        """Return a status with the details of google.rpc: BadRequest and RetryInfo."""
        details: list[Message] = []
        if self.field:
            violation = BadRequest.FieldViolation(field=self.field, description=self.message)
            details.append(BadRequest(field_violations=[violation]))
        if self.retry_after is not None:
            delay = Duration()
            delay.FromMilliseconds(round(self.retry_after * 1000))
            details.append(RetryInfo(retry_delay=delay))
        status = Status(code=self.code, message=self.message)
        for detail in details:
            status.details.add().Pack(detail)
        return status

    def segment(self) -> wire.SegmentError:
        """Return the error of one text of a batch."""
        return wire.SegmentError(
            code=self.code, message=self.message, field=self.field, retry_after=self.retry_after
        )


class RefusedError(Exception):
    """Error of a request that is not answered; `refusal` is the caller's answer instead."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


_ENDS = {
    End.EXPIRED: Refusal(Code.DEADLINE_EXCEEDED, "the deadline passed"),
    End.CANCELLED: Refusal(Code.CANCELLED, "the caller cancelled the request"),
    End.STOPPED: Refusal(Code.UNAVAILABLE, "the model stopped before the answer was complete. Repeat it."),
    End.FAILED: Refusal(Code.INTERNAL, "the model cannot decode this text"),
}


def refusal(error: Exception) -> Refusal:
    """Convert an exception to the answer for the caller.

    An unexpected exception becomes INTERNAL; its details are only in the log.
    """
    match error:
        case RefusedError():
            return error.refusal
        case InvalidError():
            return Refusal(Code.INVALID_ARGUMENT, str(error), field=error.field)
        case DecodeError():
            return Refusal(Code.INVALID_ARGUMENT, "the message cannot be parsed. Send this method's request.")
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
    _logger.error("unexpected error in a request", exc_info=error)
    return Refusal(Code.INTERNAL, "internal error; the log of the server has the details")
