"""OpenTelemetry traces: a span for each call, configured by that library's environment variables.

The library is loaded only if they configure traces.
"""

import os
import time
from typing import TYPE_CHECKING

from google.rpc.code_pb2 import Code

from keras_transformer.libraries import LibraryError, check_installed
from serving.api.context import CallContext

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
EXPORTER = "OTEL_TRACES_EXPORTER"
NEEDED = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.grpc")
SERVICE_NAME = "keras-transformer"  # default if OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES set none

_OWN_FAULTS = (Code.UNKNOWN, Code.DEADLINE_EXCEEDED, Code.INTERNAL, Code.UNAVAILABLE)


class TracesError(ValueError):
    """Error of traces that are configured but cannot be sent."""


class Traces:
    """Recorder of a span for each call that is over; a thread of the library sends them.

    Args:
        provider: Provider of the tracer.
    """

    def __init__(self, provider: "TracerProvider") -> None:
        from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415
            TraceContextTextMapPropagator,
        )

        self._provider = provider
        self._tracer = provider.get_tracer(__name__)
        self._callers = TraceContextTextMapPropagator()

    def record(self, call: CallContext) -> None:
        """Record a span of the call, in its caller's trace if it has one, without the text."""
        from opentelemetry.context import Context  # noqa: PLC0415
        from opentelemetry.trace import SpanKind, Status, StatusCode  # noqa: PLC0415

        wall, now = time.time_ns(), time.monotonic()

        def at(moment: float) -> int:
            return wall - round((now - moment) * 1e9)

        span = self._tracer.start_span(
            call.method,
            self._callers.extract({"traceparent": call.traceparent}, Context()),
            SpanKind.SERVER,
            {"rpc.method": call.method, "network.protocol.name": call.protocol},
            start_time=at(call.arrived_at),
        )
        call.span_trace_id = f"{span.get_span_context().trace_id:032x}"
        span.set_attribute("translation.code", Code.Name(call.code))
        if call.code in _OWN_FAULTS:
            span.set_status(Status(StatusCode.ERROR))
        if call.model is not None:
            span.set_attributes(
                {
                    "translation.model": call.model.name,
                    "translation.version": call.model.version,
                    "translation.source_tokens": call.source_tokens,
                    "translation.target_tokens": call.target_tokens,
                }
            )
        for event, moment in (("admitted", call.admitted_at), ("first token", call.first_token_at)):
            if moment is not None:
                span.add_event(event, timestamp=at(moment))
        span.end(at(call.arrived_at + call.seconds))

    def close(self) -> None:
        """Send the remaining spans, within OTEL_BSP_EXPORT_TIMEOUT."""
        self._provider.shutdown()


def traces() -> Traces | None:
    """Return traces if the environment configures them, or None.

    Raises:
        TracesError: If they cannot be sent.
    """
    if not _configured():
        return None
    for name in PROTOCOLS:
        if os.environ.get(name, "grpc") != "grpc":
            raise TracesError(f"{name} must be grpc, the only supported protocol; got {os.environ[name]}")
    try:
        check_installed(NEEDED, "sending traces", "traces", f", or set {EXPORTER}=none")
    except LibraryError as error:
        raise TracesError(str(error)) from error
    return _open()


def _configured() -> bool:
    exporter = os.environ.get(EXPORTER, "")
    if exporter not in ("", "otlp", "none"):
        raise TracesError(f"{EXPORTER} must be otlp or none; got {exporter}")
    return exporter == "otlp" or (not exporter and any(os.environ.get(name) for name in ENDPOINTS))


def _open() -> Traces:
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    named = Resource.create({"service.name": SERVICE_NAME}).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=named, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Traces(provider)
