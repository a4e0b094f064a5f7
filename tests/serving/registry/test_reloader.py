"""Versions come, change and go while they serve: what is found, what is refused, what is left of them."""

import asyncio
import gc
import re
import shutil
import threading
import weakref
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from export.artifact.checksums import checksums
from export.artifact.manifest import open_version
from serving.engine.engine import NICENESS
from serving.limits import Limits
from serving.registry import discovery
from serving.registry.discovery import VersionLocation
from serving.registry.registry import Registry, listed
from serving.registry.served_version import EngineSettings, ServedVersion
from serving.server import Server
from serving.v1 import translation_pb2 as wire
from serving.v1.translation_pb2_grpc import TranslationServiceStub
from tests.support.serving.echo import Echo, echo, run, until
from tests.support.serving.live_versions import (
    TEXT,
    damage,
    default,
    live,
    priority,
    put,
    refusals,
    said,
    serving,
)


def test_a_version_or_a_name_that_appears_serves_and_the_highest_is_the_default(
    root: Path, another: Path
) -> None:
    async def scenario() -> None:
        async with live(root) as (versions, models):
            put(another, root / "fr-en/10")
            put(another, root / "de-en/3")
            (root / "fr-en/.11-scratch").mkdir()
            (root / "fr-en/new").mkdir()
            assert serving(models) == [("fr-en", 1)]
            await versions.update()
            assert serving(models) == [("de-en", 3), ("fr-en", 1), ("fr-en", 10)]
            assert default(models) == 10
            assert said(models.find("fr-en", 10)) == said(models.find("de-en", 3))
            assert said(models.find("fr-en", 10)) != said(models.find("fr-en", 1))

    run(scenario)


def test_engines_give_way_to_callers_and_what_is_opened_to_both_until_it_serves(
    root: Path, another: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with live(root) as (versions, models):
            patience = []

            def opened_in_thread(place: VersionLocation, settings: EngineSettings) -> ServedVersion | str:
                patience.append(priority(threading.current_thread()))
                return discovery.open_checked(place, settings)

            monkeypatch.setattr("serving.registry.reloader.open_checked", opened_in_thread)
            put(another, root / "fr-en/2")
            await versions.update()
            engines = {priority(thread) for thread in threading.enumerate() if thread.name == "engine"}
            assert engines == {priority(threading.current_thread()) + NICENESS}
            assert patience == [19]
            assert all(model.engine.alive for model in models.serving)

    run(scenario)


def test_a_bad_version_is_refused_once_and_the_old_one_goes_on_until_it_is_repaired(
    root: Path, another: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with live(root) as (versions, models):
            bad = root / "fr-en/.bad"
            shutil.copytree(another, bad)
            content = (bad / "onnx/decoder.onnx").read_bytes()
            damage(bad)
            bad.rename(root / "fr-en/2")
            for _ in range(3):
                await versions.update()
            assert default(models) == 1
            assert "onnx/decoder.onnx: its sha256 is" in models.refused["fr-en", 2]
            assert len(refusals(caplog.records)) == 1
            ((_, told),) = list(listed(models))
            assert [isinstance(each, str) for _, each in told] == [False, True]
            (root / "fr-en/2/onnx/decoder.onnx").write_bytes(content)
            await versions.update()  # it may still be written to
            assert default(models) == 1
            await versions.update()
            assert default(models) == 2
            assert models.refused == {}

    run(scenario)


def test_a_refused_version_that_is_removed_is_forgotten(root: Path) -> None:
    async def scenario() -> None:
        async with live(root) as (versions, models):
            (root / "fr-en/2").mkdir()
            await versions.update()
            assert "manifest.json: it is missing" in models.refused["fr-en", 2]
            (root / "fr-en/2").rmdir()
            await versions.update()
            assert models.refused == {}

    run(scenario)


def test_a_version_that_does_not_say_what_was_exported_is_refused(root: Path, another: Path) -> None:
    forged = root / "fr-en/.forged"
    shutil.copytree(root / "fr-en/1", forged)
    for name in ("encoder", "decoder"):
        shutil.copy(another / f"onnx/{name}.onnx", forged / f"onnx/{name}.onnx")
    (forged / "manifest.json").unlink()
    manifest = replace(open_version(root / "fr-en/1").manifest, files=checksums(forged))
    (forged / "manifest.json").write_bytes(manifest.content())
    forged.rename(root / "fr-en/2")

    async def scenario() -> None:
        async with live(root) as (_, models):
            assert re.fullmatch(
                r"[1-8] of 8 golden sentences have other tokens than in the export; .*verify.*",
                models.refused["fr-en", 2],
            )
            assert default(models) == 1

    run(scenario)


def test_a_version_that_is_removed_is_not_found_but_finishes_what_it_has_and_is_freed(
    root: Path, another: Path
) -> None:
    put(another, root / "fr-en/2")

    async def scenario() -> None:
        async with live(root) as (versions, models):
            leaves = weakref.ref(models.find("fr-en", 2))
            model = models.find("fr-en", 0)
            with model.users:  # it has found it, and asks nothing yet
                shutil.rmtree(root / "fr-en/2")
                for _ in range(5):  # time enough for its engine to be stopped, if it were
                    await versions.update()
                assert default(models) == 1
                assert serving(models) == [("fr-en", 1)]
                assert said(model) == said(model)
                attended = model.attention.attended(model.requests([TEXT])[0].source, said(model)[0])
                assert attended.cross.shape[-2] == len(said(model)[0])
                engine = model.engine
            await until(lambda: not models.leaving)
            assert not engine.alive
            del model, engine
            await until(lambda: gc.collect() is not None and leaves() is None)

    run(scenario)


def test_a_version_that_is_changed_in_place_is_replaced_and_a_bad_change_is_refused(
    root: Path, another: Path
) -> None:
    async def scenario() -> None:
        async with live(root) as (versions, models):
            first = models.find("fr-en", 1)
            before = said(first)
            await asyncio.to_thread((root / "fr-en/1").rename, root / "fr-en/.old")
            put(another, root / "fr-en/1")
            for _ in range(2):
                await versions.update()
            second = models.find("fr-en", 1)
            after = said(second)
            assert after != before
            await until(lambda: not first.engine.alive)
            damage(root / "fr-en/1")
            for _ in range(3):
                await versions.update()
            assert models.find("fr-en", 1) is second
            assert said(second) == after
            assert "sha256" in models.refused["fr-en", 1]
            ((_, ((_, told),)),) = list(listed(models))
            assert told is second

    run(scenario)


def test_a_number_that_is_too_large_is_passed_over_with_one_line_in_the_log(
    root: Path, another: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(another, root / "fr-en/20261118201238115000")

    async def scenario() -> None:
        async with live(root) as (versions, models):
            for _ in range(3):
                await versions.update()
            assert (serving(models), models.refused) == ([("fr-en", 1)], {})
            assert [each.getMessage() for each in caplog.records] == [
                "fr-en/20261118201238115000 is ignored: the number of a version must be below "
                "18446744073709551616; give it a lower one"
            ]

    run(scenario)


def test_where_one_version_takes_the_place_of_another_there_is_always_one(root: Path, another: Path) -> None:
    async def scenario() -> None:
        async with live(root) as (versions, models):
            put(another, root / "fr-en/2")
            shutil.rmtree(root / "fr-en/1")
            looking = asyncio.create_task(versions.update())
            while not looking.done():
                assert list(models.defaults) == ["fr-en"]
                await asyncio.sleep(0.001)
            await looking
            assert serving(models) == [("fr-en", 2)]

    run(scenario)


def test_a_root_that_cannot_be_read_changes_nothing(
    root: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with live(root) as (versions, models):
            root.rename(tmp_path / "elsewhere")
            for _ in range(2):
                await versions.update()
            assert serving(models) == [("fr-en", 1)]
            assert len(caplog.records) == 1
            assert "cannot be read" in caplog.text

    run(scenario)


def test_a_server_that_loses_its_last_version_says_so_and_comes_back(root: Path, another: Path) -> None:
    async def scenario() -> None:
        server = Server(Limits())
        port = await server.start("127.0.0.1", 0)
        async with (
            live(root) as (versions, models),
            grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
        ):
            await server.open(models)
            service = TranslationServiceStub(channel)
            watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
            assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
            shutil.rmtree(root / "fr-en/1")
            (root / "fr-en/2").mkdir()
            await versions.update()
            assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
            with pytest.raises(grpc.aio.AioRpcError, match="no model is served at the moment") as told:
                await service.Translate(wire.TranslateRequest(text=TEXT))
            assert told.value.code() is grpc.StatusCode.UNAVAILABLE
            (model,) = (await service.ListModels(wire.ListModelsRequest())).models
            assert (model.default_version, model.versions[0].state) == (0, wire.STATE_UNAVAILABLE)
            put(another, root / "fr-en/3")
            await versions.update()
            assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
            answer = await service.Translate(wire.TranslateRequest(text=TEXT))
            assert answer.translation.version == 3
            watch.cancel()
            await server.drain(10)

    run(scenario)


def test_a_batch_has_one_version_whatever_comes_meanwhile() -> None:
    async def scenario() -> None:
        runtime = Echo(held=True)
        first, second = echo(version=1, runtime=runtime), echo(version=2)
        models, server = Registry([first]), Server(Limits())
        port = await server.start("127.0.0.1", 0)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            await server.open(models)
            asked = wire.BatchTranslateRequest(texts=[TEXT] * 128)
            call = asyncio.ensure_future(TranslationServiceStub(channel).BatchTranslate(asked))
            await until(lambda: first.engine.waiting + first.engine.running)
            models.add(second)
            models.remove("echo", 1)
            runtime.allow(10_000)
            answered = (await call).segments
            assert [each.translation.version for each in answered] == [1] * 128
            assert {each.translation.text for each in answered} == {TEXT}
            await server.drain(10)

    run(scenario)
