"""What Envoy refuses by itself, so that neither its own memory nor the replicas are used up."""

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status.rpc_status import from_call

from serving import Client
from serving.v1 import translation_pb2 as wire
from serving.v1.translation_pb2_grpc import TranslationServiceStub
from tests.support.deploy.front import Config, Front, front
from tests.support.deploy.load import ONCE
from tests.support.deploy.replica import COMPOSE, Replica
from tests.support.deploy.unfinished_bodies import Unfinished, post

Program = Callable[[str], str]

UNFINISHED = 150  # bodies of 4 MiB at one time
CONNECTIONS = 5  # of HTTP/2, which share them


@pytest.fixture(scope="module")
def full(program: Program, two: list[Replica], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    """Envoy when the replicas have as many requests as they may."""

    def without_room(bootstrap: Config, clusters: Config) -> None:
        for cluster in clusters["resources"]:
            threshold, _ = cluster["circuit_breakers"]["thresholds"]
            threshold["max_requests"] = 0

    with front(program("envoy"), tmp_path_factory.mktemp("full"), two, without_room) as places:
        yield places


def megabytes(limit: str) -> int:
    """What `mem_limit` means."""
    assert limit.endswith("m")
    return int(limit[:-1])


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_150_unfinished_bodies_of_4_mib_leave_envoy_within_its_memory_limit(
    protocol: str, program: Program, two: list[Replica], expected: dict[str, str], tmp_path: Path
) -> None:
    async def scenario(places: Front) -> None:
        if protocol == "http":
            attack = [post(places.http) for _ in range(UNFINISHED)]
        else:
            attack = [Unfinished(places.grpc, UNFINISHED // CONNECTIONS).run() for _ in range(CONNECTIONS)]
        tasks = [asyncio.ensure_future(each) for each in attack]
        for text, answer in expected.items():  # others are answered meanwhile
            assert (await asyncio.to_thread(client.translate, text)).text == answer
        _, without_end = await asyncio.wait(tasks, timeout=60)
        for each in without_end:
            each.cancel()
        assert places.program.highest_megabytes < megabytes(COMPOSE["services"]["envoy"]["mem_limit"])
        assert not without_end, "an unfinished body stays for ever"

    ended = ["resetting"]  # of its largest streams
    with front(program("envoy"), tmp_path, two, warnings=ended) as places, Client(places.grpc) as client:
        asyncio.run(scenario(places))
        assert places.healthy() == len(two)
        print(f"{protocol}: {places.program.highest_megabytes:.0f} MiB at most")


def test_what_is_too_much_is_refused_by_envoy_as_a_full_replica_does_it(full: Front) -> None:
    with grpc.insecure_channel(full.grpc, options=ONCE) as channel:
        with pytest.raises(grpc.RpcError) as refused:
            TranslationServiceStub(channel).Translate(wire.TranslateRequest(text="Bonjour."), timeout=10)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        (detail,) = from_call(refused.value).details
        retry = RetryInfo()
        assert detail.Unpack(retry)
        assert retry.retry_delay.ToMilliseconds() == 250
    asked = urllib.request.Request(
        f"http://{full.http}/translate", b'{"q": "Bonjour."}', {"Content-Type": "application/json"}
    )
    with pytest.raises(urllib.error.HTTPError) as http_refused:
        urllib.request.urlopen(asked, timeout=10)
    with http_refused.value as answer:
        assert (answer.code, answer.headers["Retry-After"]) == (429, "1")
        assert "too many requests" in json.load(answer)["error"]


def test_health_reflection_and_the_page_are_answered_while_translations_are_refused(full: Front) -> None:
    with grpc.insecure_channel(full.grpc, options=ONCE) as channel:
        health = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=10)
        assert health.status == health_pb2.HealthCheckResponse.SERVING
        asked = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
        (listed,) = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(asked, timeout=10)
        assert "serving.v1.TranslationService" in [
            each.name for each in listed.list_services_response.service
        ]
    for path in ("/", "/healthz", "/languages"):
        with urllib.request.urlopen(f"http://{full.http}{path}", timeout=10) as answer:
            assert answer.status == 200


def test_what_is_larger_than_any_replica_takes_is_refused_by_envoy(full: Front) -> None:
    text = "a" * 5 * 2**20
    with grpc.insecure_channel(full.grpc, options=ONCE) as channel:
        with pytest.raises(grpc.RpcError) as refused:
            TranslationServiceStub(channel).Translate(wire.TranslateRequest(text=text), timeout=10)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert from_call(refused.value) is None  # it would never be taken: there is no RetryInfo
    asked = urllib.request.Request(
        f"http://{full.http}/translate", text.encode(), {"Content-Type": "application/json"}
    )
    with pytest.raises(urllib.error.HTTPError) as http_refused:
        urllib.request.urlopen(asked, timeout=10)
    with http_refused.value as answer:
        assert answer.code == 413
        assert "error" in json.load(answer)
