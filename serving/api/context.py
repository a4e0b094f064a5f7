"""The context of one call, from its arrival to its answer; it never contains the text."""

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from google.rpc.code_pb2 import Code

from keras_transformer.inference.request import Request
from serving.api.job import Job
from serving.registry.served_version import ServedVersion

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


@dataclass(eq=False)
class CallContext:
    """Facts about one call. All times are those of time.monotonic, which is also the engine's clock.

    Attributes:
        method: Name of the RPC.
        protocol: "grpc" or "http".
        arrived_at: Time of the arrival.
        deadline: Time after which the caller no longer waits.
        metadata: Headers of the call.
        seconds: Time from the arrival to the answer, once the call is over.
        code: Status code with which the call ended.
        span_trace_id: Trace id of the span that was recorded for the call.
        jobs: Accepted texts.
        segments: Number of the texts of a batch by status code.
    """

    method: str
    protocol: str
    arrived_at: float
    deadline: float | None
    metadata: Iterable[tuple[str, str | bytes]] = ()
    seconds: float = 0.0
    code: Code.ValueType = Code.OK
    span_trace_id: str = ""
    jobs: list[Job] = field(default_factory=list)
    segments: Counter[Code.ValueType] = field(default_factory=Counter)

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    @property
    def traceparent(self) -> str:
        """Caller's trace and span, as in the header of W3C Trace Context; empty without one."""
        return next((str(value) for name, value in self.metadata if name.lower() == "traceparent"), "")

    @property
    def trace_id(self) -> str:
        """Trace id of the call's span, or else of the caller; empty without one."""
        caller = _TRACEPARENT.fullmatch(self.traceparent)
        return self.span_trace_id or (caller[1] if caller else "")

    @property
    def model(self) -> ServedVersion | None:
        """Version that decodes, if a text was accepted."""
        return self.jobs[0].model if self.jobs else None

    @property
    def source_tokens(self) -> int:
        """Number of tokens of all sources."""
        return sum(len(request.source) for request in self._requests())

    @property
    def target_tokens(self) -> int:
        """Number of tokens of all answers."""
        return sum(len(request.tokens) for request in self._requests())

    @property
    def admitted_at(self) -> float | None:
        """Time at which the first sentence got a row of the batch."""
        return min((at for at, _ in self._waits()), default=None)

    @property
    def queue_seconds(self) -> float | None:
        """Seconds that the first sentence waited for its row."""
        waits = list(self._waits())
        return min(at for at, _ in waits) - min(since for _, since in waits) if waits else None

    @property
    def first_token_at(self) -> float | None:
        """Time at which the first token was decoded."""
        times = (request.first_token_at for request in self._requests())
        return min((time for time in times if time is not None), default=None)

    def _requests(self) -> Iterator[Request]:
        return (request for job in self.jobs for request in job.requests)

    def _waits(self) -> Iterator[tuple[float, float]]:
        """Yield for each request that got a row the time of that, and the time of its submission."""
        for request in self._requests():
            if request.admitted_at is not None:
                yield request.admitted_at, request.submitted_at
