"""The way into the service for every protocol: the gate, the errors, and the observers of a call."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic

from google.rpc.code_pb2 import Code

from serving.api.context import CallContext
from serving.api.gate import Gate
from serving.errors import RefusedError, refusal

Observer = Callable[[CallContext], None]


class Dispatcher:
    """Opens a context for each call.

    Args:
        gate: lets calls in, or refuses them.
        observers: called with the context in the event loop once a call is over, in this order. They must
            be quick.
    """

    def __init__(self, gate: Gate, observers: Sequence[Observer]) -> None:
        self._gate = gate
        self._observers = observers

    @contextmanager
    def call(
        self, method: str, protocol: str, timeout: float | None = None, traceparent: str = ""
    ) -> Iterator[CallContext]:
        """Open the context of one call.

        Raises:
            RefusedError: whatever exception is raised inside; a cancellation passes unchanged.
        """
        context = CallContext(method, protocol, timeout, traceparent)
        try:
            with self._gate.entered():
                yield context
        except Exception as error:
            refused = refusal(error)
            context.code = refused.code
            raise RefusedError(refused) from error
        except BaseException:
            context.code = Code.DEADLINE_EXCEEDED if context.late else Code.CANCELLED
            raise
        finally:
            context.seconds = monotonic() - context.arrived_at
            for observe in self._observers:
                observe(context)
