"""The one way in, by whichever protocol: the door, the errors, and who is told of a request afterwards."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic

from google.rpc.code_pb2 import Code

from serving.api.context import CallContext
from serving.api.gate import Gate
from serving.errors import RefusedError, refusal

Observer = Callable[[CallContext], None]


class Front:
    """Observers are called in the event loop once a request is over, in their order: they must be quick."""

    def __init__(self, door: Gate, observers: Sequence[Observer]) -> None:
        self._door = door
        self._observers = observers

    @contextmanager
    def visited(
        self, method: str, protocol: str, remaining: float | None = None, traceparent: str = ""
    ) -> Iterator[CallContext]:
        """One request; whatever goes wrong comes out as a RefusedError, but a cancellation as it is."""
        visit = CallContext(method, protocol, remaining, traceparent)
        try:
            with self._door.entered(), visit:
                yield visit
        except Exception as error:
            told = refusal(error)
            visit.code = told.code
            raise RefusedError(told) from error
        except BaseException:
            visit.code = Code.DEADLINE_EXCEEDED if visit.late else Code.CANCELLED
            raise
        finally:
            visit.seconds = monotonic() - visit.began
            for observe in self._observers:
                observe(visit)
