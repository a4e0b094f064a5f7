"""The two clients against a real server: what they say, what they repeat, and what they leave behind."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from grpc import StatusCode

from keras_transformer.phrasebook import phrasebook
from serving import AsyncClient, Client, Retries, TranslationError
from serving.client.calls import BATCH_CHARACTERS, BATCH_TEXTS, Attempts, batches
from serving.limits import Limits
from serving.registry.registry import Registry
from serving.registry.served_version import ServedVersion
from serving.server import Server
from serving.v1 import translation_pb2 as wire
from tests.support.serving.echo import UNSPEAKABLE, Echo, echo, given_up, run, until

TEXTS = [pair.source for pair in phrasebook("fr-en", "test", 2 * BATCH_TEXTS + 3)]
QUICK = Retries(times=10_000, first=0.001, most=0.002)


class Both:
    """A client of either kind, awaited."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def translate(self, text: Any, **options: Any) -> Any:
        if isinstance(self._client, AsyncClient):
            return await self._client.translate(text, **options)
        return await asyncio.to_thread(self._client.translate, text, **options)

    async def stream(self, text: str) -> list[str]:
        if isinstance(self._client, AsyncClient):
            return [each async for each in self._client.stream(text)]
        return await asyncio.to_thread(lambda: list(self._client.stream(text)))

    async def first_piece(self, text: str) -> str:
        """No more of it is read."""
        if isinstance(self._client, AsyncClient):
            pieces = self._client.stream(text)
            first = await anext(pieces)
            await pieces.aclose()
            return first

        def read() -> str:
            pieces = self._client.stream(text)
            first = next(pieces)
            pieces.close()
            return first

        return await asyncio.to_thread(read)

    async def close(self) -> None:
        if isinstance(self._client, AsyncClient):
            await self._client.close()
        else:
            self._client.close()

    async def models(self) -> Any:
        if isinstance(self._client, AsyncClient):
            return await self._client.models()
        return await asyncio.to_thread(self._client.models)


Kind = type[Client] | type[AsyncClient]
both = pytest.mark.parametrize("kind", [Client, AsyncClient])


@asynccontextmanager
async def client_of(
    kind: Kind,
    *models: ServedVersion,
    limits: Limits = Limits(),  # noqa: B008
    **settings: Any,
) -> AsyncIterator[Both]:
    server = Server(limits)
    port = await server.start("127.0.0.1", 0)
    await server.open(Registry(list(models) or [echo()]))
    try:
        if kind is AsyncClient:
            async with AsyncClient(f"127.0.0.1:{port}", **settings) as client:
                yield Both(client)
        else:
            with Client(f"127.0.0.1:{port}", **settings) as blocking:
                yield Both(blocking)
    finally:
        await server.drain(0)


@both
def test_a_text_a_list_in_order_and_a_stream(kind: Kind) -> None:
    async def scenario() -> None:
        async with client_of(kind, echo("fr-en", 7)) as client:
            found = await client.translate(TEXTS[0], scores=True)
            assert (found.text, found.model, found.version) == (TEXTS[0], "fr-en", 7)
            assert found.score < 0
            assert [each.text for each in await client.translate(TEXTS)] == TEXTS
            assert [each.text for each in await client.translate(tuple(TEXTS[:2]))] == TEXTS[:2]
            assert await client.translate([]) == []
            assert "".join(await client.stream(TEXTS[1])) == TEXTS[1]
            (model,) = (await client.models()).models
            assert (model.name, model.default_version) == ("fr-en", 7)

    run(scenario)


@both
def test_what_is_wrong_is_told_at_once_with_its_field(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> float:
        raise AssertionError("it was going to be repeated")

    async def scenario() -> None:
        async with client_of(kind, limits=Limits(characters=5)) as client:
            monkeypatch.setattr("serving.client.blocking.Client._wait", never)
            monkeypatch.setattr("serving.client.asynchronous.AsyncClient._wait", never)
            asked: list[tuple[Callable[[], Any], StatusCode, str]] = [
                (lambda: client.translate("123456"), StatusCode.INVALID_ARGUMENT, "text"),
                (lambda: client.stream("123456"), StatusCode.INVALID_ARGUMENT, "text"),
                (lambda: client.translate("1", model="none"), StatusCode.NOT_FOUND, ""),
                (lambda: client.translate(UNSPEAKABLE), StatusCode.INTERNAL, ""),
            ]
            for ask, code, field in asked:
                with pytest.raises(TranslationError) as told:
                    await ask()
                assert (told.value.code, told.value.field, told.value.retry_after) == (code, field, None)
            monkeypatch.undo()

    run(scenario)


@both
def test_of_a_list_the_text_that_fails_is_told(kind: Kind) -> None:
    async def scenario() -> None:
        async with client_of(kind, limits=Limits(characters=5)) as client:
            with pytest.raises(TranslationError) as told:
                await client.translate(["1", "123456", "2"])
            assert str(told.value).startswith("INVALID_ARGUMENT: text has 6 characters; the limit is 5")
            assert str(told.value).endswith("('123456')")
            assert told.value.field == "text"

    run(scenario)


@both
def test_overload_is_repeated_until_there_is_room_and_nothing_is_asked_twice(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("serving.errors.RETRY_AFTER", 0.001)

    async def scenario() -> None:
        runtime = Echo(slots=1, held=True)
        async with client_of(kind, echo(runtime=runtime, waiting=2), retries=QUICK) as client:
            texts = ["a", "b", "c", "d", "e", "f"]
            calls = [asyncio.create_task(client.translate(texts))]
            await until(lambda: runtime.rows)
            calls += [asyncio.create_task(client.translate("g")), asyncio.create_task(client.stream("h"))]
            stepping = asyncio.create_task(_step(runtime))
            several, one, stream = await asyncio.gather(*calls)
            stepping.cancel()
            assert [each.text for each in several] == texts
            assert one.text == "g"
            assert stream == ["h"]
            assert len(runtime.encoded) == 8

    run(scenario)


async def _step(runtime: Echo) -> None:
    while True:
        runtime.allow(1)
        await asyncio.sleep(0.001)


@both
def test_a_server_that_is_not_ready_yet_is_waited_for(kind: Kind) -> None:
    async def scenario() -> None:
        server = Server(Limits())
        port = await server.start("127.0.0.1", 0)
        target = f"127.0.0.1:{port}"
        client = (AsyncClient if kind is AsyncClient else Client)(target, retries=QUICK)
        call = asyncio.create_task(Both(client).translate("a"))
        refused: list[TranslationError] = []
        impatient = AsyncClient(target, retries=Retries(times=0))
        with pytest.raises(TranslationError) as told:
            await impatient.translate("b")
        refused.append(told.value)
        await impatient.close()
        assert (told.value.code, str(told.value)) == (
            StatusCode.UNAVAILABLE, "UNAVAILABLE: the server is starting. Repeat the request.",
        )  # fmt: skip
        await server.open(Registry([echo()]))
        assert (await call).text == "a"
        closed = client.close()
        if closed is not None:
            await closed
        await server.drain(0)

    run(scenario)


@both
def test_a_timeout_is_for_all_attempts_together_and_leaves_the_row(kind: Kind) -> None:
    async def scenario() -> None:
        runtime = Echo(slots=1, held=True)
        model = echo(runtime=runtime)
        async with client_of(kind, model, timeout=0.3) as client:
            for ask in (client.translate, client.stream):
                with pytest.raises(TranslationError) as told:
                    await ask("Où est la gare ?")
                assert told.value.code is StatusCode.DEADLINE_EXCEEDED
                await until(lambda: given_up(model))
                runtime.allow(1)
                await until(lambda: model.engine.running == 0)

    run(scenario)


@both
def test_who_stops_reading_a_stream_leaves_the_row(kind: Kind) -> None:
    async def scenario() -> None:
        runtime = Echo(slots=1, held=True)
        model = echo(runtime=runtime)
        async with client_of(kind, model) as client:
            runtime.allow(3)
            assert await client.first_piece("Bonjour, où est la gare ?")
            await until(lambda: given_up(model))
            runtime.allow(1)
            await until(lambda: model.engine.running == 0)

    run(scenario)


@both
def test_who_is_answered_while_the_client_is_closed_is_told_so(kind: Kind) -> None:
    async def scenario() -> None:
        runtime = Echo(slots=8, held=True)
        model = echo(runtime=runtime)
        async with client_of(kind, model, retries=QUICK) as client:
            asked = [client.translate("a"), client.translate(["b", "c"]), client.stream("d")]
            calls = [asyncio.create_task(each) for each in asked]
            await until(lambda: model.engine.running + model.engine.waiting == 4)
            await client.close()
            await closed(*calls)
            await until(lambda: given_up(model))
            runtime.allow(1)
            await closed(client.translate("e"), client.stream("f"), client.models())

    run(scenario)


@both
def test_who_waits_to_be_repeated_while_the_client_is_closed_is_told_so(kind: Kind) -> None:
    async def scenario() -> None:
        server = Server(Limits())
        port = await server.start("127.0.0.1", 0)
        patient = Retries(first=5.0, most=5.0)
        client = Both((AsyncClient if kind is AsyncClient else Client)(f"127.0.0.1:{port}", retries=patient))
        calls = [asyncio.create_task(each) for each in (client.translate("a"), client.stream("b"))]
        try:
            await until(lambda: server._gate._arrived == 2)  # and refused, since it is not open
            await client.close()
            await closed(*calls)
            assert server._gate._arrived == 2
        finally:
            await server.drain(0)

    run(scenario)


async def closed(*calls: Awaitable[Any]) -> None:
    for told in await asyncio.gather(*calls, return_exceptions=True):
        assert isinstance(told, TranslationError), repr(told)
        assert str(told) == "CANCELLED: the client was closed"
        assert told.code is StatusCode.CANCELLED
        assert not told.passes


def test_who_gives_up_a_call_himself_is_cancelled_whether_the_client_is_closed_or_not() -> None:
    async def scenario() -> None:
        runtime = Echo(slots=8, held=True)
        model = echo(runtime=runtime)
        async with client_of(AsyncClient, model) as client:
            call = asyncio.create_task(client.translate("a"))
            await until(lambda: model.engine.running == 1)
            call.cancel()
            await client.close()
            with pytest.raises(asyncio.CancelledError):
                await call
            runtime.allow(1)

    run(scenario)


def test_a_long_list_goes_in_messages_that_a_server_takes() -> None:
    def sizes(texts: list[str]) -> list[int]:
        return [len(batch.request().texts) for batch in batches(texts, wire.Options())]

    assert sizes(["a"] * (2 * BATCH_TEXTS + 1)) == [BATCH_TEXTS, BATCH_TEXTS, 1]
    half = "a" * (BATCH_CHARACTERS // 2)
    assert sizes([half, half, "a", half, half + "a", "a"]) == [2, 2, 2]
    assert sizes([2 * BATCH_CHARACTERS * "a", "a"]) == [1, 1]
    assert sizes([]) == []


def refusal(code: StatusCode, retry_after: float | None = None) -> TranslationError:
    return TranslationError(code, "no", retry_after=retry_after)


def test_each_pause_is_twice_the_one_before_at_least_what_the_server_said_and_never_quite_the_same() -> None:
    retries = Retries(times=6, first=0.1, most=1.0)
    gone = refusal(StatusCode.UNAVAILABLE)
    for time, usual in enumerate([0.1, 0.2, 0.4, 0.8, 1.0, 1.0]):
        pauses = [retries.pause(time, gone) for _ in range(50)]
        assert all(usual <= each <= 1.5 * usual for each in pauses)
        assert len(set(pauses)) > 1
    assert retries.pause(0, refusal(StatusCode.RESOURCE_EXHAUSTED, 0.7)) >= 0.7


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (refusal(StatusCode.UNAVAILABLE), True),
        (refusal(StatusCode.CANCELLED), True),  # by a server that is gone
        (refusal(StatusCode.RESOURCE_EXHAUSTED, 0.1), True),
        (refusal(StatusCode.RESOURCE_EXHAUSTED), False),  # the message is too large
        (refusal(StatusCode.INVALID_ARGUMENT), False),
        (refusal(StatusCode.DEADLINE_EXCEEDED), False),
        (refusal(StatusCode.INTERNAL), False),
    ],
)
def test_what_may_pass_is_repeated_so_often_and_nothing_else_is(
    error: TranslationError, passes: bool
) -> None:
    attempts = Attempts(Retries(times=2), None)
    if passes:
        attempts.pause(error)
        attempts.pause(error)
    with pytest.raises(TranslationError):
        attempts.pause(error)


def test_a_pause_that_would_outlast_the_timeout_is_not_begun() -> None:
    with pytest.raises(TranslationError):
        Attempts(Retries(first=10.0, most=10.0), 1.0).pause(refusal(StatusCode.UNAVAILABLE))


def test_attention_comes_through_the_client_too(exported: Any) -> None:
    from serving.registry.discovery import find_versions, open_models
    from serving.registry.served_version import EngineSettings

    async def scenario() -> None:
        models = await asyncio.to_thread(open_models, find_versions(exported), EngineSettings())
        async with client_of(AsyncClient, *models.serving) as client:
            found: wire.AttendResponse = await client._client.attend("Bonjour.")
            assert found.parts[0].cross.shape

    run(scenario)
