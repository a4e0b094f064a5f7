"""What a caller gets over HTTP, from a real server whose models say what they hear."""

import asyncio
import threading
import tracemalloc
from typing import Any

import pytest

from serving.errors import InvalidError
from serving.http import parsing, routes
from serving.limits import Limits
from serving.registry.registry import Registry
from tests.support.serving.echo import UNSPEAKABLE, Echo, echo, given_up, run, until
from tests.support.serving.http_site import events, refused, site, started, told

TEXT = "Bonjour. Où est la gare ?\n<b>Merci !</b>"
ASK = {"q": "Où est la gare ?"}


@pytest.mark.parametrize("how", ["json", "data"])
@pytest.mark.parametrize("source", ["fr", "auto"])
def test_a_text_is_translated_as_libretranslate_does_it(how: str, source: str) -> None:
    async def scenario() -> None:
        async with site() as http:
            fields = {"q": TEXT, "source": source, "target": "en", "format": "text", "api_key": ""}
            status, answer = await told(http.post("/translate", **{how: fields}))
            expected = {"translatedText": TEXT, "model": "fr-en", "version": 3, "finishReason": "stop"}
            assert (status, answer) == (200, expected)

    run(scenario)


@pytest.mark.parametrize("texts", [[], ["Merci !"], ["Bonjour.", "", TEXT]])
def test_a_list_comes_back_as_a_list(texts: list[str]) -> None:
    async def scenario() -> None:
        async with site() as http:
            status, answer = await told(http.post("/translate", json={"q": texts}))
            reasons = ["stop"] * len(texts)
            expected = {"translatedText": texts, "model": "fr-en", "version": 3, "finishReason": reasons}
            assert (status, answer) == (200, expected)

    run(scenario)


def test_the_model_is_found_by_its_languages_or_by_its_name_and_version() -> None:
    async def scenario() -> None:
        async with site(echo("one", 1), echo("one", 2), echo("two", 1)) as http:
            for fields, answered in (
                ({"model": "one"}, ("one", 2)),
                ({"model": "one", "version": 1}, ("one", 1)),
                ({"model": "two", "source": "fr", "target": "en"}, ("two", 1)),
            ):
                _, answer = await told(http.post("/translate", json={**ASK, **fields}))
                assert (answer["model"], answer["version"]) == answered
            _, answer = await told(http.post("/translate", data={**ASK, "model": "one", "version": "1"}))
            assert answer["version"] == 1
            assert "one, two" in await refused(http.post("/translate", json=ASK), 400)
            for fields in ({"source": "de"}, {"target": "de"}, {"model": "one", "target": "fr"}):
                message = await refused(http.post("/translate", json={**ASK, **fields}), 400)
                assert "fr to en" in message
            message = await refused(http.post("/translate", json={**ASK, "model": "three"}), 404)
            assert "'three'" in message
            assert "one, two" in message
            message = await refused(http.post("/translate", json={**ASK, "model": "one", "version": 9}), 404)
            assert "version 9 of one" in message
            assert "1, 2" in message

    run(scenario)


@pytest.mark.parametrize("fields", [{}, {"model": "one"}, {"source": "fr", "target": "en"}, {"version": 1}])
def test_where_no_model_is_left_one_may_come(fields: dict[str, Any]) -> None:
    async def scenario() -> None:
        async with started() as (server, http):
            models = Registry([])
            await server.open(models)
            for place in ("/translate", "/translate/stream", "/attention"):
                async with http.post(place, json={**ASK, **fields}) as response:
                    assert (response.status, response.headers["Retry-After"]) == (503, "1")
                    assert (await response.json())["error"] == (
                        "no model is served at the moment. Repeat the request later."
                    )
            assert await told(http.get("/languages")) == (200, [])
            models.add(echo("one"))
            assert (await told(http.post("/translate", json={**ASK, **fields})))[0] == 200

    run(scenario)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "q is missing"),
        ({"q": 7}, "q must be a string, or a list"),
        ({"q": ["a", None]}, "q must be a string, or a list"),
        ({"q": "a\ud800"}, "body must be JSON in UTF-8"),
        ({"q": "a", "format": "html"}, 'format must be "text"'),
        ({"q": "a", "target": ["en"]}, "target must be a string"),
        (
            {"q": "a", "model": "x" * 256},
            "options.model has 256 characters",
        ),
        (
            {"q": "a", "target": "x" * 256},
            "target has 256 characters",
        ),
        ({"q": "a", "version": -1}, "version must be a whole number from 0 to 18446744073709551615"),
        ({"q": "a", "version": True}, "version must be a whole number from 0 to 18446744073709551615"),
        ({"q": "a", "version": 2**64}, "version must be a whole number from 0 to 18446744073709551615"),
        (
            {"q": "a", "x": 1},
            "unknown field; the fields are q, source, target, format, model, version, beam, alternatives",
        ),
        (["a"], "body must be a JSON object"),
        ({"q": "a" * 5001}, "text has 5,001 characters; the limit is 5,000"),
        ({"q": ["a"] * 129}, "texts has 129 items; the limit is 128"),
        ({"q": [["a"]]}, "q must be a string, or a list"),
        (
            {"q": "a", "api_key": 7, "version": None},
            "version must be a whole number from 0 to 18446744073709551615",
        ),
    ],
)
def test_what_is_wrong_with_a_request_is_told(fields: Any, why: str) -> None:
    async def scenario() -> None:
        async with site() as http:
            assert why in await refused(http.post("/translate", json=fields), 400)

    run(scenario)


def test_a_form_of_too_many_fields_is_refused_before_they_are_taken_apart() -> None:
    async def scenario() -> None:
        async with site(limits=Limits(segments=2)) as http:
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            search = "alternatives=0&beam=1&length_penalty=1&prefix=&no_repeat_ngram=0"
            search += "&alternatives_at_prefix=false&scores=true&loop_guard=true"
            others = f"source=fr&target=en&format=text&model=fr-en&version=3&api_key=&{search}"
            _, answer = await told(http.post("/translate", data=f"q=a&q=b&{others}", headers=form))
            assert answer["translatedText"] == ["a", "b"]
            most = "fields; the limit is 16, 2 of them q"
            for body, why in (
                ("q=a&q=b&q=c", "texts has 3 items; the limit is 2"),
                (f"q=a&q=b&q=c&{others}", f"body has 17 {most}"),
                ("q&" * 2**16, f"body has 65,537 {most}"),
                ("q=%ff", "the fields of the body must be UTF-8"),
            ):
                assert why in await refused(http.post("/translate", data=body, headers=form), 400)

    run(scenario)


def test_others_are_answered_while_a_large_form_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read, reading, answered = parsing._parse_form, threading.Event(), threading.Event()

    def held(*arguments: Any) -> Any:
        reading.set()
        assert answered.wait(10), "the one who reads keeps all others waiting"
        return read(*arguments)

    monkeypatch.setattr(parsing, "_parse_form", held)

    async def scenario() -> None:
        async with site() as http:
            asking = asyncio.ensure_future(http.post("/translate", data={"q": "a" * parsing.LARGE_FORM}))
            await until(reading.is_set)
            assert await told(http.get("/healthz")) == (200, {"status": "serving"})
            answered.set()
            message = await refused(await asking, 400)
            assert message.startswith("text has 65,536 characters; the limit is 5,000")

    run(scenario)


@pytest.mark.parametrize(
    "content",
    [
        b'{"q": [' + b"[]," * 300_000 + b"[]]}",
        b'{"q": ' + b"[" * 500_000 + b"]" * 500_000 + b"}",
        b'{"q": "a", "api_key": ' + b"[" * 500_000 + b"]" * 500_000 + b"}",
        b"{" + b",".join(b'"%06d": 1' % key for key in range(90_000)) + b"}",
        b'{"q": [' + b",".join([b"9" * 4300] * 240) + b"]}",
        b'{"q": "a", "version": ' + b"9" * 1_000_000 + b"}",
    ],
    ids=["lists", "deep", "deep and unused", "keys", "integers", "one integer"],
)
def test_a_json_body_is_refused_at_its_first_wrong_value_and_nothing_is_built_of_the_rest(
    content: bytes,
) -> None:
    """The parser holds the interpreter: what it builds delays all others."""
    tracemalloc.start()
    try:
        with pytest.raises(InvalidError):
            asyncio.run(parsing.parse(content, parsing.JSON, Limits()))
        assert tracemalloc.get_traced_memory()[1] < 2**18
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("place", ["/translate/stream", "/attention"])
def test_where_one_text_is_taken_a_list_is_refused(place: str) -> None:
    async def scenario() -> None:
        async with site() as http:
            message = await refused(http.post(place, json={"q": ["a"]}), 400)
            assert message.startswith("q must be a string here")

    run(scenario)


def test_of_a_list_the_first_error_is_told() -> None:
    async def scenario() -> None:
        async with site() as http:
            texts = ["Bonjour.", UNSPEAKABLE, "a" * 5001]
            message = await refused(http.post("/translate", json={"q": texts}), 500)
            assert message == "q[1]: the model cannot decode this text"

    run(scenario)


def test_a_stream_tells_its_pieces_and_then_the_whole() -> None:
    async def scenario() -> None:
        runtime = Echo(held=True)
        async with site(echo("fr-en", 3, runtime)) as http, asyncio.TaskGroup() as group:
            opening = group.create_task(http.post("/translate/stream", json={**ASK, "target": "en"}))
            runtime.allow(3)
            response = await opening
            assert (response.status, response.content_type) == (200, "text/event-stream")
            found = events(response)
            pieces = [await anext(found)]
            runtime.allow(100)
            pieces += [each async for each in found]
            *pieces, (last, whole) = pieces
            assert len(pieces) > 1
            assert {kind for kind, _ in pieces} == {"piece"}
            assert "".join(data["text"] for _, data in pieces) == ASK["q"]
            assert (last, whole) == (
                "done",
                {"translatedText": ASK["q"], "model": "fr-en", "version": 3, "finishReason": "stop"},
            )

    run(scenario)


def test_a_stream_that_fails_midway_says_so_and_one_that_fails_before_has_a_status() -> None:
    async def scenario() -> None:
        runtime = Echo(held=True)
        async with site(echo(runtime=runtime)) as http:
            message = await refused(http.post("/translate/stream", json={**ASK, "model": "x"}), 404)
            assert "'x'. Name one of echo" in message
            opening = asyncio.ensure_future(
                http.post("/translate/stream", json={"q": f"Où est la gare ?\n{UNSPEAKABLE}"})
            )
            runtime.allow(3)
            found = events(await opening)
            assert (await anext(found))[0] == "piece"
            runtime.allow(100)
            assert [each async for each in found][-1] == (
                "error",
                {"error": "the model cannot decode this text", "status": 500},
            )

    run(scenario)


@pytest.mark.parametrize("place", ["/translate", "/translate/stream"])
def test_who_goes_away_leaves_the_row_within_a_step(place: str) -> None:
    async def scenario() -> None:
        runtime = Echo(held=True)
        model = echo(runtime=runtime)
        async with site(model) as http:
            asking = asyncio.ensure_future(http.post(place, json=ASK))
            await until(lambda: model.engine.running == 1)
            asking.cancel()
            await until(lambda: given_up(model))
            runtime.allow(1)
            await until(lambda: model.engine.running == 0)
            assert runtime.steps <= 1

    run(scenario)


def test_who_stops_reading_a_stream_leaves_the_row() -> None:
    async def scenario() -> None:
        runtime = Echo(held=True)
        model = echo(runtime=runtime)
        async with site(model) as http:
            runtime.allow(2)
            response = await http.post("/translate/stream", json=ASK)
            await anext(events(response))
            response.close()
            await until(lambda: given_up(model))
            runtime.allow(1)
            await until(lambda: model.engine.running == 0)

    run(scenario)


def test_a_request_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "SECONDS", 0.05)

    async def scenario() -> None:
        runtime = Echo(held=True)
        model = echo(runtime=runtime)
        async with site(model) as http:
            assert await refused(http.post("/translate", json=ASK), 504) == "the deadline passed"
            assert given_up(model)
            runtime.allow(1)
            await until(lambda: model.engine.running == 0)

    run(scenario)


def test_a_queue_that_is_full_is_told_with_when_to_come_again() -> None:
    async def scenario() -> None:
        runtime = Echo(slots=1, held=True)
        model = echo(runtime=runtime, waiting=1)
        async with site(model) as http:
            first = asyncio.ensure_future(http.post("/translate", json=ASK))
            await until(lambda: model.engine.running == 1)
            second = asyncio.ensure_future(http.post("/translate", json=ASK))
            await until(lambda: model.engine.waiting == 1)
            async with http.post("/translate", json=ASK) as response:
                assert (response.status, response.headers["Retry-After"]) == (429, "1")
                assert (await response.json())["error"].startswith("1 requests are waiting; the limit is 1")
            runtime.allow(100)
            assert [(await call).status for call in (first, second)] == [200, 200]

    run(scenario)


def test_before_it_is_warm_a_server_answers_for_its_health_alone() -> None:
    async def scenario() -> None:
        async with started() as (server, http):
            assert await told(http.get("/healthz")) == (503, {"status": "not serving"})
            async with http.get("/metrics") as response:
                assert response.status == 200
            async with http.post("/translate", json=ASK) as response:
                assert (response.status, response.headers["Retry-After"]) == (503, "1")
                assert (await response.json())["error"].startswith("the server is starting")
            await refused(http.get("/languages"), 503)
            await server.open(Registry([echo()]))
            assert await told(http.get("/healthz")) == (200, {"status": "serving"})

    run(scenario)


def test_a_server_that_goes_says_so_refuses_and_finishes_its_streams() -> None:
    async def scenario() -> None:
        runtime = Echo(held=True)
        async with started() as (server, http):
            await server.open(Registry([echo(runtime=runtime)]))
            runtime.allow(2)
            found = events(await http.post("/translate/stream", json=ASK))
            await anext(found)
            draining = asyncio.create_task(server.drain(20))
            while (await told(http.get("/healthz")))[0] == 200:
                pass
            assert await refused(http.post("/translate", json=ASK), 503) == (
                "the server is shutting down. Repeat the request at another server."
            )
            runtime.allow(100)
            assert [kind async for kind, _ in found][-1] == "done"
            assert await draining

    run(scenario)


def test_languages_and_models_are_listed() -> None:
    async def scenario() -> None:
        models = Registry([echo("one", 1), echo("one", 2)], {("one", 3): "it is damaged"})
        async with started(Limits(characters=7)) as (server, http):
            await server.open(models)
            assert await told(http.get("/languages")) == (
                200,
                [{"code": "fr", "name": "French", "targets": ["en"]}],
            )
            _, listed = await told(http.get("/models"))
            (one,) = listed["models"]
            assert (one["name"], one["default"]) == ("one", 2)
            first, second, third = one["versions"]
            assert first == {**second, "version": 1}
            assert (second["state"], second["source"], second["target"]) == ("serving", "fr", "en")
            assert (third["version"], third["state"], third["reason"]) == (3, "unavailable", "it is damaged")
            assert listed["limits"] == {
                "characters": 7,
                "tokens": 2048,
                "segments": 128,
                "messageBytes": 4194304,
            }

    run(scenario)
