"""Spans arrive at a receiver of OpenTelemetry's protocol, and nothing of it is loaded unless asked for."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from serving.limits import Limits
from serving.observability.traces import TracesError, traces
from serving.registry.registry import Registry
from serving.server import Server
from serving.v1 import translation_pb2 as wire
from serving.v1.translation_pb2_grpc import TranslationServiceStub
from tests.support.serving.echo import UNSPEAKABLE, echo, run
from tests.support.serving.serve_process import process

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"


class Receiver(trace_service_pb2_grpc.TraceServiceServicer):
    """Keeps what it gets."""

    def __init__(self) -> None:
        self.services: set[str] = set()
        self.spans: list[Span] = []

    def Export(self, request: Any, context: Any) -> Any:  # noqa: N802
        for each in request.resource_spans:
            self.services |= {
                a.value.string_value for a in each.resource.attributes if a.key == "service.name"
            }
            self.spans += [span for scope in each.scope_spans for span in scope.spans]
        return trace_service_pb2.ExportTraceServiceResponse()


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """The environment names it."""
    server = grpc.server(ThreadPoolExecutor(1))
    found = Receiver()
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(found, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
    yield found
    server.stop(0).wait()


def attributes(span: Span) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


def test_each_request_is_a_span_in_its_callers_trace_and_without_its_text(receiver: Receiver) -> None:
    async def scenario() -> None:
        tracing = traces()
        assert tracing is not None
        server = Server(Limits(), traces=tracing)
        port = await server.start("127.0.0.1", 0)
        await server.open(Registry([echo("fr-en", 3)]))
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            service = TranslationServiceStub(channel)
            text = "Où est la gare ?"
            caller = (("traceparent", TRACEPARENT),)
            answer = await service.Translate(wire.TranslateRequest(text=text), metadata=caller)
            odd = (("traceparent", "no such thing"),)
            async for _ in service.StreamTranslate(wire.StreamTranslateRequest(text=text), metadata=odd):
                pass
            for wrong in (UNSPEAKABLE, "a" * 5001):
                call = service.Translate(wire.TranslateRequest(text=wrong))
                assert await call.code() is not grpc.StatusCode.OK
        await server.drain(1)
        await asyncio.to_thread(tracing.close)

        first, second, failed, refused = receiver.spans
        assert receiver.services == {"keras-transformer"}
        assert [span.name for span in receiver.spans] == [
            "Translate",
            "StreamTranslate",
            "Translate",
            "Translate",
        ]
        assert {span.kind for span in receiver.spans} == {Span.SPAN_KIND_SERVER}
        assert (first.trace_id.hex(), first.parent_span_id.hex()) == (TRACE, PARENT)
        assert not second.parent_span_id
        usage = answer.translation.usage
        assert attributes(first) == {
            "rpc.method": "Translate",
            "network.protocol.name": "grpc",
            "translation.code": "OK",
            "translation.model": "fr-en",
            "translation.version": 3,
            "translation.source_tokens": usage.source_tokens,
            "translation.target_tokens": usage.target_tokens,
        }
        admitted, spoke = first.events
        assert [admitted.name, spoke.name] == ["admitted", "first token"]
        times = [
            first.start_time_unix_nano,
            admitted.time_unix_nano,
            spoke.time_unix_nano,
            first.end_time_unix_nano,
        ]
        assert times == sorted(times)
        assert attributes(failed)["translation.code"] == "INTERNAL"
        assert (failed.status.code, refused.status.code) == (
            Status.STATUS_CODE_ERROR,
            Status.STATUS_CODE_UNSET,
        )
        assert not any(text.encode() in span.SerializeToString() for span in receiver.spans)

    run(scenario)


def test_without_being_asked_nothing_is_loaded() -> None:
    code = (
        "import sys, serving.run; from serving.observability.traces import traces; "
        "assert traces() is None; print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert not {"opentelemetry", "aiohttp"} & {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("OTEL_TRACES_EXPORTER", "zipkin", "OTEL_TRACES_EXPORTER must be otlp or none; got zipkin"),
        (
            "OTEL_EXPORTER_OTLP_PROTOCOL",
            "http/json",
            "OTEL_EXPORTER_OTLP_PROTOCOL must be grpc, .* got http/json",
        ),
    ],
)
def test_what_is_not_spoken_here_is_told(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, why: str
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv(name, value)
    with pytest.raises(TracesError, match=why):
        traces()


def test_an_exporter_named_none_is_none_whatever_the_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    assert traces() is None


def test_an_environment_without_the_extra_is_told_which_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setattr("serving.observability.traces.NEEDED", ("opentelemetry_missing.sdk",))
    with pytest.raises(TracesError, match=r"needs opentelemetry_missing\.sdk, .* its extra `traces`, or set"):
        traces()


def test_the_command_says_what_is_wrong_with_the_environment(
    exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "zipkin")
    with process(exported, "--port", 0) as started:
        out, err = started.communicate(timeout=60)
    assert (started.returncode, out) == (1, "")
    assert err == "keras-transformer serve: OTEL_TRACES_EXPORTER must be otlp or none; got zipkin.\n"
