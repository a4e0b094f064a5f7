"""Callers who mean no good, or know no better: a server process that they cannot harm."""

import asyncio
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path

import grpc
import pytest
from grpc import StatusCode
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status.rpc_status import from_call

from keras_transformer.phrasebook import phrasebook
from serving.limits import Limits
from serving.v1 import translation_pb2 as wire
from serving.v1.translation_pb2_grpc import TranslationServiceStub
from tests.support.counts import counts
from tests.support.paths import ROOT
from tests.support.serving.echo import run, served
from tests.support.serving.serve_process import descriptors, megabytes, serving_both

TEXTS = [pair.source for pair in phrasebook("fr-en", "test", 20)]
OPTIONS = wire.Options(
    model="fr-en", version=1, max_output_tokens=20, priority=wire.PRIORITY_HIGH, scores=True, alignment=True,
    beam=3, alternatives=2, length_penalty=0.6, prefix="I", no_repeat_ngram=3, alternatives_at_prefix=True,
)  # fmt: skip
GOOD = {
    "Translate": wire.TranslateRequest(text=TEXTS[0], options=OPTIONS),
    "BatchTranslate": wire.BatchTranslateRequest(texts=TEXTS[:3], options=OPTIONS),
    "StreamTranslate": wire.StreamTranslateRequest(text=TEXTS[1], options=OPTIONS),
    "Attend": wire.AttendRequest(text=TEXTS[2], options=OPTIONS),
    "ListModels": wire.ListModelsRequest(),
}
REFUSED = {StatusCode.INVALID_ARGUMENT, StatusCode.NOT_FOUND}
UNDER_WAY = 32
Started = tuple["subprocess.Popen[str]", str]


class Health:
    """Asked all the time; the slowest answer is kept."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = health_pb2_grpc.HealthStub(channel)
        self.slowest = 0.0

    def __str__(self) -> str:
        return f"health at worst {self.slowest * 1e3:.0f} ms"

    async def ask(self) -> None:
        begun = time.perf_counter()
        answer = await self._stub.Check(health_pb2.HealthCheckRequest())
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        self.slowest = max(self.slowest, time.perf_counter() - begun)

    async def ask_on(self) -> None:
        while True:
            await self.ask()
            await asyncio.sleep(0.02)


@asynccontextmanager
async def healthy(address: str) -> AsyncIterator[Health]:
    """Before, meanwhile and afterwards, by a connection of its own."""
    async with grpc.aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        health = Health(channel)
        await health.ask()
        asking = asyncio.create_task(health.ask_on())
        yield health
        assert not asking.done(), asking.exception()
        asking.cancel()
        await health.ask()


@pytest.fixture
def server(exported: Path) -> Iterator[Started]:
    with serving_both(exported, "--slots", 8) as (process, address, http):
        yield process, address
        assert process.poll() is None
        process.terminate()
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0  # nobody is inside any more
        model, opened, *rest = err.splitlines()
        assert opened.startswith("opened in ")
        assert [model, *rest] == [
            "  fr-en 1: fr to en, float32",
            f"the page is at http://{http}/",
            "draining ...",
        ]  # nothing was the server's fault


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Some bits changed, or the end cut off, or some of it repeated."""
    changed = bytearray(content or b"\0")
    for _ in range(rng.randrange(1, 5)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    first, last = sorted(rng.randrange(len(changed) + 1) for _ in range(2))
    shape = rng.random()
    if shape < 0.2:
        return bytes(changed[:last])
    if shape < 0.3:
        return bytes(changed[:last] + changed[first:])
    return bytes(changed)


@counts(3_000, 100_000)
def test_no_message_harms_a_server_or_makes_it_say_unknown_or_internal(server: Started, count: int) -> None:
    process, address = server
    rng, codes = random.Random(9), Counter[StatusCode]()
    methods = cycle(GOOD)

    async def scenario() -> None:
        async with grpc.aio.insecure_channel(address) as channel, healthy(address) as health:

            async def one() -> None:
                method = next(methods)
                content = damaged(GOOD[method].SerializeToString(), rng)
                kind = channel.unary_stream if method == "StreamTranslate" else channel.unary_unary
                call = kind(f"/serving.v1.TranslationService/{method}")(content)
                try:
                    if method == "StreamTranslate":
                        async for _ in call:
                            pass
                    else:
                        await call
                    codes[StatusCode.OK] += 1
                except grpc.aio.AioRpcError as error:
                    assert error.code() in REFUSED, (error.code(), error.details(), method, content)
                    codes[error.code()] += 1

            async def some(so_many: int) -> None:
                for _ in range(so_many):
                    await one()

            await asyncio.gather(*(some(20) for _ in range(UNDER_WAY)))
            size, opened = megabytes(process), descriptors(process)
            await asyncio.gather(*(some(count // UNDER_WAY) for _ in range(UNDER_WAY)))
            grown = megabytes(process) - size
            assert descriptors(process) == opened
            assert grown < 64
            told = {code.name: many for code, many in codes.items()}
            print(f"\n{count:,} damaged messages: {told}, {grown:.1f} MB more, {health}")

    asyncio.run(scenario())
    assert set(codes) == {StatusCode.OK, *REFUSED}


ODD = (
    "\0", "a\0b", "\x7f\x1b[31m", "\ufeff", "\u200b\u2060\u00ad", "\u2028\u2029\x0b\x0c\x85", "\r\n\r\n",
    "مرحبا بالعالم. كيف حالك؟", "\u202eabc\u202c", "עברית\u200f!",
    "👩‍👩‍👧‍👦🏳️‍🌈👍🏽" * 20, "e" + "\u0301" * 300, "\U0010ffff\uffff\ue000",
    "日本語。" * 100, "𝕬𝖇𝖈", "ﷺ" * 50, "." * 500, "?! " * 200, "a" * 1_500,
    "\u3000\u00a0", "<0x0A></s><s><unk>▁",
    "%s{}$(x)`'\"\\;--", "İıẞſK", "\n".join("a" * 200),
)  # fmt: skip


def test_odd_texts_are_translated_by_every_method(server: Started) -> None:
    _, address = server

    async def scenario() -> None:
        async with grpc.aio.insecure_channel(address) as channel:
            service = TranslationServiceStub(channel)
            whole = (await service.BatchTranslate(wire.BatchTranslateRequest(texts=ODD))).segments
            for text, segment in zip(ODD, whole, strict=True):
                assert segment.HasField("translation"), (text, segment.error)
                call = service.StreamTranslate(wire.StreamTranslateRequest(text=text))
                pieces = [each async for each in call]
                assert "".join(each.text for each in pieces) == segment.translation.text
                assert (await service.Translate(wire.TranslateRequest(text=text))).translation == (
                    segment.translation
                )
            for text in ODD:  # of the longest the weights are too many
                code = await service.Attend(wire.AttendRequest(text=text)).code()
                assert code in (StatusCode.OK, StatusCode.INVALID_ARGUMENT)

    asyncio.run(scenario())


@pytest.mark.parametrize("letter", ["a", "é", "日", "😀", "\0", "ש"])
def test_a_message_is_as_large_as_it_may_be_or_a_byte_larger(letter: str) -> None:
    async def scenario() -> None:
        empty = wire.TranslateRequest(text="a" * 200).ByteSize() - 200
        async with served(limits=Limits(message_bytes=empty + 240)) as channel:
            for size, expected in (
                (239, StatusCode.OK),
                (240, StatusCode.OK),
                (241, StatusCode.RESOURCE_EXHAUSTED),
            ):
                letters = size // len(letter.encode())
                text = letter * letters + "b" * (size - letters * len(letter.encode()))
                call = TranslationServiceStub(channel).Translate(wire.TranslateRequest(text=text))
                assert await call.code() is expected
            assert from_call(await _error(call)) is None  # to repeat it would be in vain

    run(scenario)


async def _error(call: grpc.aio.UnaryUnaryCall) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as told:
        await call
    return told.value


def test_text_that_is_no_unicode_is_damaged() -> None:
    async def scenario() -> None:
        async with served() as channel:
            call = channel.unary_unary("/serving.v1.TranslationService/Translate")
            for text in (b"\xed\xa0\x80", b"\xff", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"a\xf0\x9f\x98"):
                assert await call(b"\x0a" + bytes([len(text)]) + text).code() is StatusCode.INVALID_ARGUMENT

    run(scenario)


STALLED = """
import asyncio, sys, grpc
from serving.v1 import translation_pb2 as wire
from serving.v1.translation_pb2_grpc import TranslationServiceStub

async def main(address, count):
    options = [("grpc.http2.lookahead_bytes", 0), ("grpc.http2.bdp_probe", 0)]  # nothing is read ahead
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        ask = wire.StreamTranslateRequest(text=chr(10).join(["Bonjour."] * 20))
        calls = [TranslationServiceStub(channel).StreamTranslate(ask) for _ in range(count)]
        for call in calls:
            await call.initial_metadata()
        print("stalled", flush=True)
        await asyncio.sleep(3600)

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


@counts(50, 200)
def test_streams_that_nobody_reads_keep_nobody_waiting(server: Started, count: int) -> None:
    process, address = server

    async def scenario() -> None:
        async with grpc.aio.insecure_channel(address) as channel, healthy(address) as health:
            service = TranslationServiceStub(channel)

            async def answers() -> list[wire.Translation]:
                asks = [wire.TranslateRequest(text=text) for text in TEXTS]
                return [(await service.Translate(ask)).translation for ask in asks]

            alone = await answers()
            size, opened = megabytes(process), descriptors(process)
            command = [sys.executable, "-c", STALLED, address, str(count)]
            with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as stalled:
                assert stalled.stdout is not None
                assert await asyncio.to_thread(stalled.stdout.readline) == "stalled\n"
                assert await answers() == alone
                stalled.kill()
            while descriptors(process) > opened:
                await asyncio.sleep(0.01)
            assert await answers() == alone
            print(f"\n{count} stalled readers: {megabytes(process) - size:.1f} MB more, {health}")

    asyncio.run(scenario())


@counts(200, 20_000)
def test_connections_that_come_and_go_leave_nothing(server: Started, count: int) -> None:
    process, address = server
    host, _, port = address.rpartition(":")
    rng = random.Random(10)

    async def visit() -> None:
        options = [("grpc.use_local_subchannel_pool", 1)]
        async with grpc.aio.insecure_channel(address, options=options) as channel:
            await TranslationServiceStub(channel).Translate(wire.TranslateRequest(text=TEXTS[0]))

    async def babble() -> None:
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(rng.randbytes(rng.randrange(1, 100)))
        writer.close()

    async def visits(so_many: int) -> None:
        for number in range(so_many):
            await (babble() if number % 4 == 3 else visit())

    async def scenario() -> None:
        async with healthy(address) as health:
            await visits(100)
            size, opened = megabytes(process), descriptors(process)
            await asyncio.gather(*(visits(count // 4) for _ in range(4)))
            while descriptors(process) > opened:
                await asyncio.sleep(0.01)
            grown = megabytes(process) - size
            assert grown < 32
            print(f"\n{count:,} connections: {grown:.1f} MB more, {health}")

    asyncio.run(scenario())
