"""A server's life: shut until it is warm, healthy while its engines are, and drained when it goes."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from serving.grpc.handlers import SERVICE
from serving.limits import Limits
from serving.registry.registry import Registry
from serving.server import Server
from serving.v1 import translation_pb2 as wire
from serving.v1.translation_pb2_grpc import TranslationServiceStub
from tests.support.serving.echo import Echo, echo, given_up, run, served, until
from tests.support.serving.unfinished_messages import HEALTH, REFLECTION

SERVING, NOT_SERVING = (
    health_pb2.HealthCheckResponse.SERVING,
    health_pb2.HealthCheckResponse.NOT_SERVING,
)
ASK = wire.TranslateRequest(text="Où est la gare ?")


@asynccontextmanager
async def started() -> AsyncIterator[tuple[Server, grpc.aio.Channel]]:
    server = Server(Limits())
    port = await server.start("127.0.0.1", 0)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        try:
            yield server, channel
        finally:
            await server.drain(0)


async def health(channel: grpc.aio.Channel, service: str = "") -> Any:
    stub = health_pb2_grpc.HealthStub(channel)
    return (await stub.Check(health_pb2.HealthCheckRequest(service=service))).status


async def refused(call: Any, code: grpc.StatusCode) -> str:
    with pytest.raises(grpc.aio.AioRpcError) as told:
        await call
    assert told.value.code() is code
    return told.value.details()


def test_until_it_is_warm_a_server_says_so_and_refuses() -> None:
    async def scenario() -> None:
        async with started() as (server, channel):
            service = TranslationServiceStub(channel)
            for name in ("", SERVICE):
                assert await health(channel, name) == NOT_SERVING
            assert await refused(service.Translate(ASK), grpc.StatusCode.UNAVAILABLE) == (
                "the server is starting. Repeat the request."
            )
            await server.open(Registry([echo()]))
            for name in ("", SERVICE):
                assert await health(channel, name) == SERVING
            assert (await service.Translate(ASK)).translation.text == ASK.text

    run(scenario)


def test_a_server_that_goes_says_so_first_refuses_then_and_finishes_what_it_has() -> None:
    async def scenario() -> None:
        runtime = Echo(slots=1, held=True)
        model = echo(runtime=runtime)
        async with started() as (server, channel):
            await server.open(Registry([model]))
            service = TranslationServiceStub(channel)
            calls = [asyncio.ensure_future(service.Translate(ASK)) for _ in range(3)]
            await until(lambda: model.engine.running + model.engine.waiting == 3)
            draining = asyncio.create_task(server.drain(20))
            while await health(channel) == SERVING:
                pass
            assert await refused(service.Translate(ASK), grpc.StatusCode.UNAVAILABLE) == (
                "the server is shutting down. Repeat the request at another server."
            )
            assert not draining.done()
            runtime.allow(100)
            assert [(await call).translation.text for call in calls] == [ASK.text] * 3
            assert await draining
            assert not model.engine.alive

    run(scenario)


def test_a_server_that_gives_notice_says_that_it_goes_and_still_takes_requests() -> None:
    async def scenario() -> None:
        async with started() as (server, channel):
            await server.open(Registry([echo()]))
            service = TranslationServiceStub(channel)
            noticing = asyncio.create_task(server.notice(60))
            while await health(channel) == SERVING:
                pass
            assert (await service.Translate(ASK)).translation.text == ASK.text
            assert not noticing.done()
            noticing.cancel()
            assert await server.drain(20)

    run(scenario)


def test_who_asks_at_the_last_moment_is_answered_or_refused_and_never_just_cut_off() -> None:
    async def scenario() -> None:
        async with started() as (server, channel):
            await server.open(Registry([echo()]))
            service = TranslationServiceStub(channel)
            calls = [service.Translate(ASK) for _ in range(500)]
            await calls[0]
            assert await server.drain(20)
            codes = {await call.code() for call in calls}
            assert codes <= {grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE}
            refusals = {await call.details() for call in calls if await call.code() != grpc.StatusCode.OK}
            assert refusals <= {"the server is shutting down. Repeat the request at another server."}

    run(scenario)


def test_what_is_not_finished_within_the_grace_is_cut_off_and_that_is_told() -> None:
    async def scenario() -> None:
        runtime = Echo(held=True)
        model = echo(runtime=runtime)
        async with started() as (server, channel):
            await server.open(Registry([model]))
            call = asyncio.ensure_future(TranslationServiceStub(channel).Translate(ASK))
            await until(lambda: model.engine.running == 1)
            assert not await server.drain(0.1)
            with pytest.raises(grpc.aio.AioRpcError):
                await call
            runtime.allow(1)
            await until(lambda: not model.engine.alive)

    run(scenario)


def test_with_nobody_inside_no_time_is_enough_to_finish() -> None:
    async def scenario() -> None:
        async with started() as (server, _):
            await server.open(Registry([echo()]))
            assert await server.drain(0)

    run(scenario)


def test_who_watches_the_health_does_not_hold_up_a_drained_server() -> None:
    async def scenario() -> None:
        async with started() as (server, channel):
            await server.open(Registry([echo()]))
            watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
            assert (await watch.read()).status == SERVING
            draining = asyncio.create_task(server.drain(60))
            assert (await watch.read()).status == NOT_SERVING
            assert await draining

    run(scenario)


def test_an_engine_that_dies_is_the_end_of_health_and_listed_as_such() -> None:
    class Unable(Echo):
        def retire(self, row: int) -> None:
            raise MemoryError

    async def scenario() -> None:
        async with served(echo(runtime=Unable())) as channel:
            service = TranslationServiceStub(channel)
            await refused(service.Translate(ASK), grpc.StatusCode.UNAVAILABLE)
            while await health(channel) == SERVING:
                await asyncio.sleep(0.01)
            await refused(service.Translate(ASK), grpc.StatusCode.UNAVAILABLE)
            (model,) = (await service.ListModels(wire.ListModelsRequest())).models
            (version,) = model.versions
            assert version.state == wire.STATE_UNAVAILABLE
            assert version.reason == "its engine has failed; see the log of the server"

    run(scenario)


def test_a_port_that_is_taken_is_an_error_and_no_silent_rival() -> None:
    async def scenario() -> None:
        first, second = Server(Limits()), Server(Limits())
        port = await first.start("127.0.0.1", 0)
        with pytest.raises(OSError, match=f"127.0.0.1:{port}.*; choose another --port$"):
            await second.start("127.0.0.1", port)
        await second.drain(0)
        await first.drain(0)

    run(scenario)


def test_a_client_that_knows_nothing_finds_the_contract_by_reflection() -> None:
    async def scenario() -> None:
        async with served() as channel:
            stub = reflection_pb2_grpc.ServerReflectionStub(channel)

            async def ask(**request: str) -> Any:
                call = stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(**request)]))
                return await call.read()

            services = (await ask(list_services="")).list_services_response.service
            assert {"grpc.health.v1.Health", SERVICE} <= {each.name for each in services}
            (content,) = (
                await ask(file_containing_symbol=SERVICE)
            ).file_descriptor_response.file_descriptor_proto
            assert FileDescriptorProto.FromString(content).name == "serving/v1/translation.proto"

    run(scenario)


@pytest.mark.parametrize("path", [HEALTH, f"{HEALTH[:-5]}Watch", REFLECTION])
@pytest.mark.parametrize("content", [b"\xff\xff", b"\x0a\x05ab", b"\x0a\x02\xc3\x28"])
def test_a_damaged_message_to_health_or_reflection_is_refused_and_not_logged(
    path: str, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with served() as channel:
            call = channel.stream_stream(path)(iter([content]))
            assert await refused(call.read(), grpc.StatusCode.INVALID_ARGUMENT) == (
                "the message cannot be parsed. Send this method's request."
            )
            assert await health(channel) == SERVING

    run(scenario)
    assert not caplog.records


def test_health_is_answered_while_everything_is_full() -> None:
    async def scenario() -> None:
        runtime = Echo(slots=1, held=True)
        model = echo(runtime=runtime, waiting=20)
        async with served(model) as channel:
            service = TranslationServiceStub(channel)
            calls = [asyncio.ensure_future(service.Translate(ASK)) for _ in range(21)]
            await until(lambda: model.engine.running + model.engine.waiting == 21)
            assert await health(channel) == SERVING
            for call in calls:
                call.cancel()
            await until(lambda: given_up(model))
            runtime.allow(1)

    run(scenario)


@pytest.mark.parametrize(
    "module",
    [
        "serving.server",
        "serving.run",
        "keras_transformer.inference.backends.onnx_runtime",
        "serving.engine.attention_graph",
    ],
)
def test_a_server_on_onnx_runtime_loads_no_framework(module: str) -> None:
    code = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert not {"tensorflow", "keras", "jax", "torch", "onnx"} & set(done.stdout.split())


def test_importing_serving_loads_nothing_and_its_names_are_there() -> None:
    code = "import sys, serving; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert not {"grpc", "google.protobuf", "numpy"} & set(done.stdout.split())
    import serving

    for name in serving.__all__:
        assert getattr(serving, name).__name__ == name
        assert name in dir(serving)
    with pytest.raises(AttributeError, match="'serving' has no attribute 'Cliemt'"):
        serving.Cliemt  # noqa: B018
