"""What Envoy lets through, and to whom."""

import asyncio
import json
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator

import grpc
import pytest

from serving import Client
from serving.v1 import translation_pb2 as wire
from serving.v1.translation_pb2_grpc import TranslationServiceStub
from tests.support.deploy.front import FILES, Front, front
from tests.support.deploy.load import ONCE, until
from tests.support.deploy.replica import COMPOSE, Replica

Program = Callable[[str], str]

SENT = "cluster.http.upstream_cx_tx_bytes_total"


@pytest.fixture(scope="module")
def places(program: Program, two: list[Replica], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    with front(program("envoy"), tmp_path_factory.mktemp("envoy"), two) as started:
        yield started


def test_the_files_are_such_as_envoy_takes_as_they_stand(program: Program) -> None:
    command = [program("envoy"), "--mode", "validate", "-c", "envoy.yaml", "-l", "warning"]
    said = subprocess.run(command, cwd=FILES, capture_output=True, text=True, timeout=60, check=True)
    assert (said.stdout + said.stderr).strip() == "configuration 'envoy.yaml' OK"


def test_texts_lists_and_streams_go_through_grpc(places: Front, expected: dict[str, str]) -> None:
    with Client(places.grpc) as client:
        for text, answer in expected.items():
            assert client.translate(text).text == answer
        assert [each.text for each in client.translate(list(expected))] == list(expected.values())
        text = "\n".join(expected)
        assert "".join(client.stream(text)) == "\n".join(expected.values())
        # an untrained model repeats itself: the guard holds such tokens back until it is sure of them
        assert len(list(client.stream(text, loop_guard=False))) > 1


def test_a_stream_comes_as_it_is_made(places: Front, expected: dict[str, str]) -> None:
    text = "\n".join(list(expected) * 3)
    asked = urllib.request.Request(
        f"http://{places.http}/translate/stream",
        json.dumps({"q": text}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(asked, timeout=60) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        assert answer.headers["Transfer-Encoding"] == "chunked"
        assert answer.readline() == b"event: piece\n"
        said = answer.read().decode()
    assert said.count("event: piece") > 1
    assert '"finishReason"' in said.rpartition("event: done")[2]


def test_both_replicas_are_asked(places: Front, two: list[Replica], expected: dict[str, str]) -> None:
    def counted(replica: Replica) -> float:
        with urllib.request.urlopen(f"http://127.0.0.1:{replica.http_port}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith("translation_requests_total"))

    before = [counted(each) for each in two]
    with Client(places.grpc) as client:
        for text in list(expected) * 2:
            client.translate(text)
    assert all(counted(each) > count for each, count in zip(two, before, strict=True))


def test_a_deadline_goes_on_to_the_replica_and_a_broken_request_is_refused_as_it_is(places: Front) -> None:
    with grpc.insecure_channel(places.grpc, options=ONCE) as channel:
        service = TranslationServiceStub(channel)
        with pytest.raises(grpc.RpcError) as late:
            service.Translate(wire.TranslateRequest(text="Bonjour.\n" * 300), timeout=0.002)
        assert late.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        with pytest.raises(grpc.RpcError) as long:
            service.Translate(wire.TranslateRequest(text="a" * 5_001))
        assert long.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert [each.key for each in long.value.trailing_metadata()].count("grpc-status-details-bin") == 1


def test_neither_the_metrics_nor_the_administration_are_open_to_all(places: Front) -> None:
    for address, path in [
        (places.http, "/metrics"),
        (places.http, "//metrics"),
        (places.http, "/x/../metrics"),
        (places.http, "/%6detrics"),
        (places.telemetry, "/"),
        (places.telemetry, "/quitquitquit"),
        (places.telemetry, "/config_dump"),
    ]:
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://{address}{path}", timeout=10)
        assert refused.value.code == 404, path
        refused.value.close()
    for path in ("/stats/prometheus", "/ready"):
        urllib.request.urlopen(f"http://{places.telemetry}{path}", timeout=10).close()


def test_the_health_check_of_its_container_tells_when_it_is_there(program: Program, places: Front) -> None:
    _, _, option, script = COMPOSE["services"]["envoy"]["healthcheck"]["test"]
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = places.telemetry.rpartition(":")[2]
        for asked, fine in ((port, True), (str(nobody.getsockname()[1]), False)):
            command = [program("bash"), option, script.replace("/9902", f"/{asked}")]
            done = subprocess.run(command, capture_output=True, timeout=10, check=False)
            assert (done.returncode == 0) is fine, done


def test_a_request_larger_than_a_buffer_is_repeated_when_its_replica_is_killed(
    places: Front, two: list[Replica], expected: dict[str, str]
) -> None:
    texts = ["\n".join([text] * 5) for text in expected] * 5
    body = json.dumps({"q": texts, "target": "en"}).encode().ljust(1_000_000)  # 1 MiB is allowed

    def ask() -> list[str]:
        headers = {"Content-Type": "application/json"}
        asked = urllib.request.Request(f"http://{places.http}/translate", body, headers)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return list(json.load(answer)["translatedText"])

    async def scenario() -> None:
        before = places.count(SENT)
        asking = asyncio.create_task(asyncio.to_thread(ask))
        await until(lambda: places.count(SENT) > before + len(body))
        (asked,) = (each for each in two if each.http_port in places.busy("http"))
        asked.kill()
        try:
            assert await asking == ["\n".join([text] * 5) for text in expected.values()] * 5
        finally:
            asked.start()
        await until(lambda: places.healthy() == 2)

    asyncio.run(scenario())
