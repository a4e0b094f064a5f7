"""Who has to wait, finds no room, goes away, is too late or fails is told so, and harms nobody else."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from grpc import StatusCode

from serving.errors import RETRY_AFTER
from serving.v1 import translation_pb2 as wire
from tests.support.serving.calls import ask, refused, refused_for
from tests.support.serving.echo import UNSPEAKABLE, Echo, echo, given_up, run, stub, tokenizer, until
from tests.support.serving.http_site import both, told


def test_a_priority_that_does_not_exist_is_wrong() -> None:
    async def scenario() -> None:
        async with stub() as service:
            message = await refused_for(service.Translate(ask("a", priority=7)), "options.priority")
            assert "got 7" in message

    run(scenario)


def test_where_requests_wait_the_urgent_ones_go_first() -> None:
    async def scenario() -> None:
        runtime = Echo(slots=1, held=True)
        model = echo(runtime=runtime)
        async with stub(model) as service:
            first = asyncio.ensure_future(service.Translate(ask("a")))
            await until(lambda: model.engine.running == 1)
            calls = []
            for number, priority in enumerate((wire.PRIORITY_LOW, wire.PRIORITY_NORMAL, wire.PRIORITY_HIGH)):
                calls.append(asyncio.ensure_future(service.Translate(ask("bcd"[number], priority=priority))))
                await until(lambda waiting=number + 1: model.engine.waiting == waiting)
            runtime.allow(100)
            await asyncio.gather(first, *calls)
            begun = tokenizer().decode_source(source for group in runtime.encoded for source in group)
            assert begun == ["a", "d", "c", "b"]

    run(scenario)


def test_overload_is_told_with_when_to_come_again() -> None:
    async def scenario() -> None:
        runtime = Echo(slots=1, held=True)
        model = echo(runtime=runtime, waiting=2)
        async with stub(model) as service:
            calls = [asyncio.ensure_future(service.Translate(ask("a")))]
            await until(lambda: model.engine.running == 1)
            calls.append(asyncio.ensure_future(service.Translate(ask("b"))))
            await until(lambda: model.engine.waiting == 1)
            message, (detail,) = await refused(
                service.Translate(ask("Merci. Bonjour.")), StatusCode.RESOURCE_EXHAUSTED
            )
            assert "1 requests are waiting; the limit is 2" in message
            assert detail.retry_delay.ToTimedelta().total_seconds() == RETRY_AFTER
            texts = ["Merci. Bonjour."] * 2
            batch = await service.BatchTranslate(wire.BatchTranslateRequest(texts=texts))
            for segment in batch.segments:
                assert segment.error.code == StatusCode.RESOURCE_EXHAUSTED.value[0]
                assert segment.error.retry_after == RETRY_AFTER
            calls.append(asyncio.ensure_future(service.Translate(ask("c"))))
            await until(lambda: model.engine.waiting == 2)
            await refused(service.Translate(ask("d")), StatusCode.RESOURCE_EXHAUSTED)
            runtime.allow(100)
            assert [(await call).translation.text for call in calls] == ["a", "b", "c"]

    run(scenario)


FULL = ["Merci. " * 19 + "Merci.", "Où est la gare ?", *["Bonjour. " * 4 + "Bonjour."] * 7]


def test_a_list_that_fills_the_queue_by_itself_is_answered_whole() -> None:
    async def scenario() -> None:
        runtime = Echo(slots=1, held=True)
        model = echo("fr-en", runtime=runtime, waiting=20)
        async with both(model) as (service, http):
            call = asyncio.ensure_future(service.BatchTranslate(wire.BatchTranslateRequest(texts=FULL)))
            await until(lambda: model.engine.running + model.engine.waiting >= 20)
            runtime.allow(1_000)
            batch = await call
            assert [segment.translation.text for segment in batch.segments] == FULL
            status, answer = await told(http.post("/translate", json={"q": FULL}))
            assert (status, answer["translatedText"]) == (200, FULL)

    run(scenario)


def test_the_texts_of_a_list_that_wait_for_room_end_with_their_caller() -> None:
    async def scenario() -> None:
        runtime = Echo(slots=1, held=True)
        model = echo(runtime=runtime, waiting=20)
        async with stub(model) as service:
            call = service.BatchTranslate(wire.BatchTranslateRequest(texts=FULL))
            waiter = asyncio.ensure_future(_finished(call))
            await until(lambda: model.engine.running + model.engine.waiting >= 20)
            call.cancel()
            await waiter
            await until(lambda: given_up(model))
            runtime.allow(100)
            assert (await service.Translate(ask("b"))).translation.text == "b"
            assert runtime.steps < 20

    run(scenario)


async def _unary(service: Any, timeout: float | None) -> Any:
    return service.Translate(ask("Où est la gare ?"), timeout=timeout)


async def _batch(service: Any, timeout: float | None) -> Any:
    request = wire.BatchTranslateRequest(texts=["Où est la gare ?", "Merci."])
    return service.BatchTranslate(request, timeout=timeout)


async def _stream(service: Any, timeout: float | None) -> Any:
    call = service.StreamTranslate(wire.StreamTranslateRequest(text="Où est la gare ?"), timeout=timeout)

    async def read() -> None:
        async for _ in call:
            pass

    return asyncio.ensure_future(read())


CALLS = [_unary, _batch, _stream]
Call = Callable[[Any, float | None], Awaitable[Any]]


@pytest.mark.parametrize("call", CALLS)
def test_who_goes_away_leaves_the_row_within_a_step(call: Call) -> None:
    async def scenario() -> None:
        runtime = Echo(slots=1, held=True)
        model = echo(runtime=runtime)
        async with stub(model) as service:
            going = await call(service, None)
            waiter = asyncio.ensure_future(_finished(going))
            await until(lambda: model.engine.running == 1)
            going.cancel()
            await waiter
            await until(lambda: given_up(model))
            runtime.allow(1)  # the one that was being taken
            await until(lambda: model.engine.running == 0)
            assert runtime.steps == 1
            runtime.allow(100)
            assert (await service.Translate(ask("b"))).translation.text == "b"

    run(scenario)


async def _finished(call: Any) -> None:
    with pytest.raises(asyncio.CancelledError):
        await call


@pytest.mark.parametrize("call", CALLS)
def test_a_deadline_that_passes_is_told_and_leaves_the_row(call: Call) -> None:
    async def scenario() -> None:
        runtime = Echo(slots=1, held=True)
        model = echo(runtime=runtime)
        async with stub(model) as service:
            await refused(await call(service, 0.3), StatusCode.DEADLINE_EXCEEDED)
            await until(lambda: given_up(model))
            runtime.allow(1)
            await until(lambda: model.engine.running == 0)
            assert runtime.steps == 1

    run(scenario)


def test_the_engine_knows_the_deadline_and_begins_nothing_after_it() -> None:
    async def scenario() -> None:
        runtime = Echo(slots=1, held=True)
        model = echo(runtime=runtime)
        async with stub(model) as service:
            before = time.monotonic()
            call = service.Translate(ask("a"), timeout=30)
            await until(lambda: model.engine.running == 1)
            endless = service.Translate(ask("b"))
            await until(lambda: model.engine.waiting == 1)
            first = model.engine._batch.members[0].request
            (second,) = model.engine._queue.waiting
            assert before + 29 < first.deadline < time.monotonic() + 31  # gRPC rounds it up on the way
            assert second.deadline is None
            runtime.allow(10)
            await asyncio.gather(call, endless)

    run(scenario)


def test_a_text_that_the_runtime_fails_at_is_internal_and_nothing_is_told_of_it() -> None:
    async def scenario() -> None:
        async with stub() as service:
            message, details = await refused(service.Translate(ask(UNSPEAKABLE)), StatusCode.INTERNAL)
            assert (message, details) == ("the model cannot decode this text", [])

    run(scenario)


def test_what_nobody_expects_is_internal_and_told_in_the_log_alone(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(text: str) -> int:
        raise RuntimeError("the secret of the house")

    async def scenario() -> None:
        model = echo()
        monkeypatch.setattr(model.tokenizer, "count_source", fail)
        async with stub(model) as service:
            message, details = await refused(service.Translate(ask("a")), StatusCode.INTERNAL)
            assert message.startswith("internal error")
            assert "secret" not in message
            assert not details

    run(scenario)
    assert "the secret of the house" in caplog.text


def test_answers_are_not_crossed_whoever_asks_and_whoever_goes() -> None:
    rng = random.Random(4)

    async def one(service: Any, tag: int) -> None:
        text = f"{tag} {' '.join(str(rng.randrange(10)) for _ in range(rng.randrange(8)))}".strip()
        call = service.Translate(ask(text))
        if rng.random() < 0.2:
            await asyncio.sleep(rng.random() / 100)
            call.cancel()
            with suppress(asyncio.CancelledError):
                assert (await call).translation.text == text
        else:
            assert (await call).translation.text == text

    async def scenario() -> None:
        model = echo(waiting=10_000)
        async with stub(model) as service:
            await asyncio.gather(*(one(service, tag) for tag in range(1_000)))
            await until(lambda: model.engine.running == model.engine.waiting == 0)

    run(scenario)
