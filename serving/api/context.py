"""What is known of one call, from its arrival to its answer: never the text."""

import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from google.rpc.code_pb2 import Code

from keras_transformer.inference.request import Request
from serving.api.job import Job
from serving.registry.served_version import ServedVersion

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


@dataclass(eq=False)
class CallContext:
    """One call. All times are those of time.monotonic, which is the engine's clock as well."""

    method: str
    protocol: str  # grpc or http
    timeout: float | None = None  # seconds that the caller waits, counted from the arrival
    traceparent: str = ""  # as W3C defines it, from the caller
    arrived_at: float = field(default_factory=time.monotonic)
    seconds: float = 0.0  # until the call was answered
    code: Code.ValueType = Code.OK
    trace_id: str = ""
    jobs: list[Job] = field(default_factory=list)  # the texts that were accepted
    segments: Counter[Code.ValueType] = field(default_factory=Counter)  # how the texts of a batch ended

    def __post_init__(self) -> None:
        if self.traceparent and (found := _TRACEPARENT.fullmatch(self.traceparent)):
            self.trace_id = found[1]

    @property
    def deadline(self) -> float | None:
        """When the caller stops waiting."""
        return None if self.timeout is None else self.arrived_at + self.timeout

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    @property
    def model(self) -> ServedVersion | None:
        """The version that decodes, if a text was accepted."""
        return self.jobs[0].model if self.jobs else None

    @property
    def source_tokens(self) -> int:
        """Tokens of all sources."""
        return sum(len(request.source) for request in self._requests())

    @property
    def target_tokens(self) -> int:
        """Tokens of all answers."""
        return sum(len(request.tokens) for request in self._requests())

    @property
    def admitted_at(self) -> float | None:
        """When the first sentence got a row of the batch."""
        return min(
            (each.admitted_at for each in self._requests() if each.admitted_at is not None), default=None
        )

    @property
    def queue_seconds(self) -> float | None:
        """How long the first sentence waited for its row."""
        if self.admitted_at is None:
            return None
        return self.admitted_at - min(
            each.submitted_at for each in self._requests() if each.admitted_at is not None
        )

    @property
    def first_token_at(self) -> float | None:
        """When the first token was decoded."""
        return min(
            (each.first_token_at for each in self._requests() if each.first_token_at is not None),
            default=None,
        )

    def _requests(self) -> Iterator[Request]:
        return (request for job in self.jobs for request in job.requests)
