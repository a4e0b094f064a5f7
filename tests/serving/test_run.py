"""The server as a process: what it says, how it ends, and what is left of those it served."""

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import pytest
from prometheus_client.parser import text_string_to_metric_families

from export.artifact.manifest import open_version
from keras_transformer.cli import main
from serving import Client
from serving.limits import Limits
from serving.registry.registry import Registry
from serving.registry.served_version import EngineSettings
from serving.run import Listening, serve
from serving.server import Server
from serving.v1 import translation_pb2 as wire
from serving.v1.translation_pb2_grpc import TranslationServiceStub
from tests.support.needed import program
from tests.support.paths import ROOT
from tests.support.ports import free_port
from tests.support.serving.echo import Echo, echo, given_up, run, until
from tests.support.serving.live_versions import put
from tests.support.serving.serve_process import process, serving, serving_both


async def call_until_gone(address: str, codes: set[grpc.StatusCode], answered: asyncio.Event) -> None:
    """Call over a connection of its own, one call after the other, until no server is there."""
    options = [("grpc.enable_retries", 0), ("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        service = TranslationServiceStub(channel)
        while True:
            try:
                await service.Translate(wire.TranslateRequest(text="Merci."))
                answered.set()
            except grpc.aio.AioRpcError as error:
                codes.add(error.code())
                if "failed to connect" in (error.details() or ""):
                    return


def test_callers_that_go_on_calling_a_server_that_ends_are_refused_and_not_cancelled(exported: Path) -> None:
    codes: set[grpc.StatusCode] = set()

    async def scenario() -> None:
        with serving(exported) as (started, address):
            answered = [asyncio.Event() for _ in range(10)]
            async with asyncio.TaskGroup() as group:
                for each in answered:
                    group.create_task(call_until_gone(address, codes, each))
                for each in answered:
                    await each.wait()
                started.terminate()
            assert await asyncio.to_thread(started.wait, 30) == 0

    run(scenario)
    assert codes == {grpc.StatusCode.UNAVAILABLE}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_says_where_it_is_and_ends_well_when_it_is_told_to(exported: Path, number: int) -> None:
    with serving_both(exported.parents[1]) as (started, address, http):
        assert address.startswith("127.0.0.1:")
        with Client(address) as client:
            assert client.translate("Bonjour.").model == "fr-en"
        started.send_signal(number)
        out, err = started.communicate(timeout=30)
    assert (started.returncode, out) == (0, "")
    page = f"the page is at http://{http}/"
    model, opened, *rest = err.splitlines()
    assert [model, *rest] == ["  fr-en 1: fr to en, float32", page, "draining ..."]
    assert re.fullmatch(r"opened in \d+\.\d s and \d+ MB of memory", opened)


def test_under_load_a_server_that_is_told_to_go_finishes_what_it_has_taken(exported: Path) -> None:
    texts = [each.source for each in open_version(exported).golden] * 20

    async def scenario() -> None:
        with serving_both(exported, "--slots", 2) as (started, address, http):
            async with grpc.aio.insecure_channel(address) as channel, aiohttp.ClientSession() as session:
                service = TranslationServiceStub(channel)
                expected = [
                    (await service.Translate(wire.TranslateRequest(text=text))).translation
                    for text in texts[:24]
                ] * 20
                calls = [service.Translate(wire.TranslateRequest(text=text)) for text in texts]
                while await depth(session, http) < 50:
                    await asyncio.sleep(0)
                started.send_signal(signal.SIGTERM)
                answered = 0
                for call, answer in zip(calls, expected, strict=True):
                    try:
                        assert (await call).translation == answer
                        answered += 1
                    except grpc.aio.AioRpcError as error:
                        assert error.code() is grpc.StatusCode.UNAVAILABLE
                assert answered > 50
                _, err = await asyncio.to_thread(started.communicate, timeout=30)
                assert started.returncode == 0, err

    run(scenario)


async def depth(session: aiohttp.ClientSession, address: str) -> float:
    """Sentences that wait, as the metrics say it."""
    async with session.get(f"http://{address}/metrics") as response:
        families = text_string_to_metric_families(await response.text())
        (family,) = (each for each in families if each.name == "translation_queue_depth")
        return sum(sample.value for sample in family.samples)


def test_requests_that_are_not_finished_in_time_are_told_in_the_exit_status(exported: Path) -> None:
    text = "Où est la gare, mon ami ?\n" * 90

    async def scenario() -> None:
        with serving(exported, "--slots", 1, "--grace", 0) as (started, address):
            async with grpc.aio.insecure_channel(address) as channel:
                call = TranslationServiceStub(channel).StreamTranslate(wire.StreamTranslateRequest(text=text))
                await call.read()
                started.send_signal(signal.SIGTERM)
                _, err = await asyncio.to_thread(started.communicate, timeout=30)
        assert started.returncode == 1
        assert err.splitlines()[-1] == (
            "keras-transformer serve: some requests were not finished within 0 s, and were cut off: "
            "set a longer --grace."
        )

    run(scenario)


STUCK = """
import sys, threading
from keras_transformer.cli import command
from keras_transformer.inference.backends.session import open_session
import serving.run, serving.registry.reloader

def stuck(found, settings):
    print("opening", flush=True)
    {does}

{name} = stuck
command()
"""
WAITS = "threading.Event().wait()"
OPENS = "while True: open_session(found[0].directory / 'onnx/decoder.onnx')"  # nearly always it is in C++


@pytest.mark.parametrize("does", [WAITS, OPENS])
def test_a_server_that_is_told_to_go_while_it_opens_its_first_versions_does_not_wait_for_them(
    exported: Path, does: str
) -> None:
    stuck = ("-c", STUCK.format(name="serving.run.open_models", does=does))
    with process(exported, "--port", 0, program=stuck) as started:
        assert line(started) == "opening"
        started.send_signal(signal.SIGTERM)
        out, err = started.communicate(timeout=60)
    assert (started.returncode, out, err) == (0, "", "")


def test_a_server_that_is_told_to_go_while_it_opens_a_version_beside_others_does_not_wait_for_it(
    root: Path, another: Path
) -> None:
    stuck = ("-c", STUCK.format(name="serving.registry.reloader.open_checked", does=WAITS))
    with process(root, "--port", 0, "--watch", 0.1, program=stuck) as started:
        assert line(started).startswith("serving on ")
        assert line(started).startswith("http on ")
        put(another, root / "fr-en/2")
        assert line(started) == "opening"
        started.send_signal(signal.SIGTERM)
        _, err = started.communicate(timeout=60)
    assert (started.returncode, err.splitlines()[-1]) == (0, "draining ...")


def line(started: "subprocess.Popen[str]") -> str:
    assert started.stdout is not None
    return started.stdout.readline().rstrip("\n")


def test_a_port_that_is_taken_and_a_directory_without_models_are_told(exported: Path, tmp_path: Path) -> None:
    with serving(exported) as (_, address):
        port = address.rpartition(":")[2]
        with process(exported, "--port", port) as second:
            _, err = second.communicate(timeout=60)
        assert second.returncode == 1
        assert f"cannot listen at 127.0.0.1:{port}" in err.splitlines()[-1]
    with process(tmp_path) as third:
        _, err = third.communicate(timeout=60)
    assert third.returncode == 1
    assert err == (
        f"keras-transformer serve: {tmp_path} has no models; name a directory that "
        "`keras-transformer export` wrote, or one that holds such directories as NAME/VERSION.\n"
    )


def test_a_server_whose_http_port_is_taken_leaves_its_grpc_port(exported: Path) -> None:
    port = free_port()

    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            http_port = taken.getsockname()[1]
            listening = Listening(port=port, http_port=http_port)
            with pytest.raises(OSError, match=f"cannot listen at 127.0.0.1:{http_port}"):
                await serve(exported, EngineSettings(), Limits(), listening, print, print)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)

    run(scenario)


def test_a_version_that_is_refused_is_told_where_people_look(root: Path) -> None:
    (root / "fr-en/1/golden.jsonl").unlink()
    with process(root, "--port", 0) as started:
        out, err = started.communicate(timeout=60)
    assert (started.returncode, out) == (1, "")
    assert "keras-transformer serve: nothing to serve: every version was refused:" in err
    assert "golden.jsonl: it is missing" in err


def test_a_file_over_the_wire_is_what_translate_makes_of_it(
    exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        "Bonjour. Comment allez-vous ?",
        "",
        "  Où est la gare ?",
        "M. Petit dort, " * 12 + "et moi aussi.",
    ]
    (tmp_path / "letters.fr").write_text("".join(f"{line}\n" for line in lines))
    assert main(["translate", str(exported), "--input", str(tmp_path / "letters.fr")]) == 0
    printed = capsys.readouterr().out
    with serving(exported) as (_, address), Client(address) as client:
        assert client.translate("\n".join(lines)).text + "\n" == printed
        assert "".join(client.stream("\n".join(lines))) + "\n" == printed
        assert [each.text for each in client.translate(lines)] == printed.splitlines()


def test_a_client_that_nobody_here_wrote_finds_all_it_needs_by_reflection(exported: Path) -> None:
    buf = program("buf")

    def curl(address: str, method: str, message: dict[str, Any]) -> "subprocess.CompletedProcess[str]":
        url = f"http://{address}/serving.v1.TranslationService/{method}"
        command = [
            buf,
            "curl",
            "--protocol",
            "grpc",
            "--http2-prior-knowledge",
            "-d",
            json.dumps(message),
            url,
        ]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    with serving(exported) as (_, address), Client(address) as client:
        expected = client.translate("Bonjour.").text
        answer = json.loads(curl(address, "Translate", {"text": "Bonjour."}).stdout)
        assert answer["translation"]["text"] == expected
        refused = json.loads(curl(address, "Translate", {"text": "a", "options": {"model": "x"}}).stderr)
        assert refused == {"code": "not_found", "message": "there is no model 'x'. Name one of fr-en."}


ASKING = """
import sys, threading
from keras_transformer.cli import main
from serving import Client
client = Client(sys.argv[1])
for _ in range(3):
    threading.Thread(target=client.translate, args=("Où est la gare ?",)).start()
"""


def test_a_client_that_is_killed_leaves_its_rows_within_a_step() -> None:
    async def scenario() -> None:
        runtime = Echo(held=True)
        model = echo(runtime=runtime)
        server = Server(Limits())
        port = await server.start("127.0.0.1", 0)
        await server.open(Registry([model]))
        command = [sys.executable, "-c", ASKING, f"127.0.0.1:{port}"]
        with subprocess.Popen(command, cwd=ROOT) as client:
            await until(lambda: model.engine.running + model.engine.waiting == 3)
            client.kill()
        await until(lambda: given_up(model))
        runtime.allow(1)
        await until(lambda: model.engine.running == 0)
        assert runtime.steps <= 1
        await server.drain(0)

    run(scenario)
