"""More than a server can do: it says so, does what it can, and is itself again afterwards."""

import asyncio
from itertools import cycle
from pathlib import Path

import grpc
from google.rpc.error_details_pb2 import RetryInfo
from grpc_status.rpc_status import from_call

from keras_transformer.phrasebook import phrasebook
from serving.v1 import translation_pb2 as wire
from serving.v1.translation_pb2_grpc import TranslationServiceStub
from tests.support.counts import counts
from tests.support.serving.echo import Echo, echo, run, stub, until
from tests.support.serving.serve_process import descriptors, megabytes, serving

TEXTS = [pair.source for pair in phrasebook("fr-en", "test", 25)]
ASKED = [wire.TranslateRequest(text=text, options=wire.Options(beam=beam))
         for text, beam in zip(TEXTS, cycle((0, 0, 2, 4)))]  # fmt: skip
AT_ONCE = 20 * len(ASKED)


def retry_after(error: grpc.aio.AioRpcError) -> float:
    """Seconds, of a call that was refused."""
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    (detail,) = from_call(error).details
    found = RetryInfo()
    assert detail.Unpack(found)
    return found.retry_delay.ToTimedelta().total_seconds()


def test_a_refusal_comes_before_anything_is_done_with_the_text() -> None:
    counted: list[str] = []

    async def scenario() -> None:
        runtime = Echo(slots=1, held=True)
        model = echo(runtime=runtime, waiting=1)
        async with stub(model) as service:
            calls = [asyncio.ensure_future(service.Translate(wire.TranslateRequest(text="a")))]
            await until(lambda: model.engine.running == 1)
            calls.append(asyncio.ensure_future(service.Translate(wire.TranslateRequest(text="b"))))
            await until(lambda: model.engine.waiting == 1)
            object.__setattr__(model, "count", counted.append)
            try:
                await service.Translate(wire.TranslateRequest(text="c"))
                raise AssertionError("it was answered")
            except grpc.aio.AioRpcError as error:
                assert retry_after(error) > 0
            runtime.allow(100)
            assert [(await call).translation.text for call in calls] == ["a", "b"]

    run(scenario)
    assert counted == []


@counts(3_000, 50_000)
def test_what_there_is_no_room_for_is_refused_with_when_to_come_again_and_leaves_nothing(
    exported: Path, count: int
) -> None:
    told = {"answered": 0, "refused": 0}

    async def scenario() -> None:
        with serving(exported, "--slots", 4, "--queue", 8) as (server, address):
            async with grpc.aio.insecure_channel(address) as channel:
                service = TranslationServiceStub(channel)

                async def translated(asked: wire.TranslateRequest) -> str:
                    return (await service.Translate(asked)).translation.text

                alone = {asked.text: await translated(asked) for asked in ASKED}

                async def one(asked: wire.TranslateRequest) -> None:
                    try:
                        assert await translated(asked) == alone[asked.text]
                        told["answered"] += 1
                    except grpc.aio.AioRpcError as error:
                        assert retry_after(error) > 0
                        told["refused"] += 1

                async def flood(so_many: int) -> None:
                    for _ in range(so_many // AT_ONCE):
                        await asyncio.gather(*(one(asked) for asked in ASKED * (AT_ONCE // len(ASKED))))

                await flood(2 * AT_ONCE)
                size, opened = megabytes(server), descriptors(server)
                await flood(count)
                grown = megabytes(server) - size
                assert all(told.values())
                for asked in ASKED:  # at once it is itself again
                    assert await translated(asked) == alone[asked.text]
                assert descriptors(server) == opened
                assert grown < 32
                print(f"\n{AT_ONCE} at once for 12 places, {count:,} in all: {told}, {grown:.1f} MB more")

    asyncio.run(scenario())
