"""What Prometheus reads is what has happened, and reading it waits for nobody."""

import asyncio
from time import monotonic
from typing import Any

import aiohttp
import grpc
import pytest
from prometheus_client.parser import text_string_to_metric_families

from serving.engine.statistics import Histogram
from serving.observability.metrics import Metrics
from serving.registry.registry import Registry
from serving.v1 import translation_pb2 as wire
from tests.support.serving.echo import UNSPEAKABLE, Echo, echo, run, tokenizer, until
from tests.support.serving.http_site import both, site, started

ASK = wire.TranslateRequest(text="Où est la gare ?")


class Read:
    """One reading."""

    def __init__(self, text: str) -> None:
        families = text_string_to_metric_families(text)
        self._samples = [sample for family in families for sample in family.samples]

    def __call__(self, name: str, **labels: str) -> float:
        """The sum of what has these labels."""
        found = [
            each.value
            for each in self._samples
            if each.name == name and labels.items() <= each.labels.items()
        ]
        assert found, f"there is no {name} with {labels}"
        return sum(found)

    @property
    def requests(self) -> dict[tuple[str, str, str], float]:
        return {
            (each.labels["method"], each.labels["protocol"], each.labels["code"]): each.value
            for each in self._samples
            if each.name == "translation_requests_total"
        }


async def read(http: aiohttp.ClientSession) -> Read:
    async with http.get("/metrics") as response:
        assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        return Read(await response.text())


def test_requests_are_counted_by_method_protocol_and_code() -> None:
    async def scenario() -> None:
        async with both(echo()) as (service, http):
            await service.Translate(ASK)
            await service.BatchTranslate(wire.BatchTranslateRequest(texts=["Merci !"] * 3))
            async for _ in service.StreamTranslate(wire.StreamTranslateRequest(text="Merci !")):
                pass
            await service.ListModels(wire.ListModelsRequest())
            for text in (UNSPEAKABLE, "a" * 5001):
                with pytest.raises(grpc.aio.AioRpcError):
                    await service.Translate(wire.TranslateRequest(text=text))
            for fields in ({"q": "a"}, {"q": ["a"]}, {"q": "a", "model": "x"}):
                (await http.post("/translate", json=fields)).close()
            found = await read(http)
            assert found.requests == {
                ("Translate", "grpc", "OK"): 1,
                ("BatchTranslate", "grpc", "OK"): 1,
                ("StreamTranslate", "grpc", "OK"): 1,
                ("ListModels", "grpc", "OK"): 1,
                ("Translate", "grpc", "INTERNAL"): 1,
                ("Translate", "grpc", "INVALID_ARGUMENT"): 1,
                ("Translate", "http", "OK"): 1,
                ("BatchTranslate", "http", "OK"): 1,
                ("Translate", "http", "NOT_FOUND"): 1,
            }
            assert found("translation_segments_total", protocol="grpc", code="OK") == 3
            assert found("translation_segments_total", protocol="http", code="OK") == 1
            assert found("translation_request_seconds_count", protocol="http") == 3
            assert found("process_resident_memory_bytes") > 10**6
            assert found("process_open_fds") > 3

    run(scenario)


def test_the_texts_of_a_batch_are_counted_by_how_each_ended() -> None:
    async def scenario() -> None:
        async with both(echo()) as (service, http):
            await service.BatchTranslate(wire.BatchTranslateRequest(texts=["Oui.", UNSPEAKABLE, "a" * 5001]))
            found = await read(http)
            assert found.requests == {("BatchTranslate", "grpc", "OK"): 1}
            for code in ("OK", "INTERNAL", "INVALID_ARGUMENT"):
                assert found("translation_segments_total", protocol="grpc", code=code) == 1

    run(scenario)


def test_calls_that_are_given_up_are_counted_as_what_they_are() -> None:
    async def scenario() -> None:
        runtime = Echo(held=True)
        model = echo(runtime=runtime)
        async with both(model) as (service, http):
            call = service.Translate(ASK)
            await until(lambda: model.engine.running == 1)
            call.cancel()
            late = service.Translate(ASK, timeout=0.05)
            assert await late.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            expected = {
                ("Translate", "grpc", "CANCELLED"): 1.0,
                ("Translate", "grpc", "DEADLINE_EXCEEDED"): 1.0,
            }
            while (await read(http)).requests != expected:
                await asyncio.sleep(0.001)
            runtime.allow(100)
            await until(lambda: model.engine.running == 0)

    run(scenario)


def test_the_engine_is_seen_as_it_is_while_it_is_busy_and_afterwards() -> None:
    async def scenario() -> None:
        runtime = Echo(slots=1, held=True)
        model = echo("fr-en", 3, runtime)
        tokens = len(tokenizer().encode_source([ASK.text])[0])
        began = monotonic()
        async with site(model) as http, asyncio.TaskGroup() as group:
            calls = [group.create_task(http.post("/translate", json={"q": ASK.text})) for _ in range(3)]
            await until(lambda: model.engine.running == 1 and model.engine.waiting == 2)
            held = await read(http)
            runtime.allow(1000)
            for call in calls:
                (await call).close()
            await until(lambda: model.engine.running == 0)
            found = await read(http)
        this = {"model": "fr-en", "version": "3"}
        assert [held(f"translation_{name}", **this) for name in ("queue_depth", "rows", "slots")] == [2, 1, 1]
        assert [found(f"translation_{name}", **this) for name in ("queue_depth", "rows")] == [0, 0]
        assert found("translation_steps_total", **this) == runtime.steps == 3 * tokens
        assert found("translation_tokens_total", **this) == 3 * tokens
        assert found("translation_sentences_total", **this, end="stop") == 3
        assert found("translation_sentences_total", **this) == 3
        for name, times in (("queue", 3), ("first_token", 3), ("step", 3 * tokens)):
            assert found(f"translation_{name}_seconds_count", **this) == times
            assert found(f"translation_{name}_seconds_bucket", **this, le="+Inf") == times
        waited = found("translation_queue_seconds_sum", **this)
        assert 0 < waited < found("translation_first_token_seconds_sum", **this) < 3 * (monotonic() - began)

    run(scenario)


def test_versions_are_told_with_their_state() -> None:
    models = Registry([echo("one", 1), echo("one", 2), echo("two", 1)], {("two", 2): "it is damaged"})
    models.serving[0].engine.stop()
    found = Read(Metrics(lambda: models).text().decode())
    models.stop(10)
    states = {
        (name, version): tuple(
            found(f"translation_version_{what}", model=name, version=version)
            for what in ("serving", "default")
        )
        for name, version in (("one", "1"), ("one", "2"), ("two", "1"))
    }
    assert states == {("one", "1"): (0, 0), ("one", "2"): (1, 1), ("two", "1"): (1, 1)}
    assert found("translation_version_refused", model="two", version="2") == 1


def test_a_histogram_has_for_each_bound_the_values_up_to_it() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 7.0):
        histogram.observe(value)
    # up to 1: 0.5 and 1.0; up to 2: 1.5 as well; all four
    assert (histogram.cumulative(), histogram.sum) == ([2, 3, 4], 10.0)


def test_two_servers_in_one_process_do_not_count_for_each_other() -> None:
    async def scenario() -> None:
        async with site() as one, site() as other:
            (await one.post("/translate", json={"q": "a"})).close()
            assert (await read(one)).requests == {("Translate", "http", "OK"): 1}
            assert (await read(other)).requests == {}

    run(scenario)


def test_metrics_are_read_without_the_front_door() -> None:
    async def scenario() -> None:
        async with started() as (_, http):
            found: Any = await read(http)
            assert found.requests == {}

    run(scenario)
