"""A request from when it comes until it is answered, and all that may be told of it: never its text."""

import re
import time
from collections import Counter
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field

from google.rpc.code_pb2 import Code

from keras_transformer.inference.request import Request
from serving.api.job import Job
from serving.registry.served_version import ServedVersion

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


@dataclass(eq=False)
class CallContext:
    """Times are time.monotonic's, which is the engine's clock as well."""

    method: str
    protocol: str  # grpc or http
    remaining: float | None = None  # seconds, when it came
    traceparent: str = ""  # as W3C has it, from the caller
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0  # until it was answered
    code: Code.ValueType = Code.OK
    trace_id: str = ""
    asked: list[Job] = field(default_factory=list)  # the texts that came as far as to an engine
    segments: Counter[Code.ValueType] = field(default_factory=Counter)  # how those of a batch ended

    def __post_init__(self) -> None:
        if self.traceparent and (found := _TRACEPARENT.fullmatch(self.traceparent)):
            self.trace_id = found[1]

    def __enter__(self) -> None:
        """Meanwhile `follow` is about this one."""
        self._token = _current.set(self)

    def __exit__(self, *error: object) -> None:
        _current.reset(self._token)

    @property
    def late(self) -> bool:
        """Whether the caller's deadline has passed."""
        return self.remaining is not None and time.monotonic() >= self.began + self.remaining

    @property
    def model(self) -> ServedVersion | None:
        """Whom it has asked, if it came so far."""
        return self.asked[0].model if self.asked else None

    @property
    def source_tokens(self) -> int:
        """That were read."""
        return sum(len(request.source) for request in self._requests())

    @property
    def target_tokens(self) -> int:
        """That were said."""
        return sum(len(request.tokens) for request in self._requests())

    @property
    def begun(self) -> float | None:
        """When the first of its parts got a row."""
        return min(
            (each.admitted_at for each in self._requests() if each.admitted_at is not None), default=None
        )

    @property
    def waited(self) -> float | None:
        """Seconds, from when an engine had it until the first of its parts got a row."""
        came = min(
            (each.submitted_at for each in self._requests() if each.admitted_at is not None), default=0.0
        )
        return None if self.begun is None else self.begun - came

    @property
    def spoke(self) -> float | None:
        """When its first token was there."""
        return min(
            (each.first_token_at for each in self._requests() if each.first_token_at is not None),
            default=None,
        )

    def _requests(self) -> Iterator[Request]:
        return (request for asked in self.asked for request in asked.requests)


_current: ContextVar[CallContext | None] = ContextVar("visit", default=None)


def follow(asked: Job) -> None:
    """What becomes of this text is told of the visit that it is part of."""
    visit = _current.get()
    if visit is not None:
        visit.asked.append(asked)


def count_segment(code: Code.ValueType) -> None:
    """One of a batch's texts has ended so."""
    visit = _current.get()
    if visit is not None:
        visit.segments[code] += 1
