"""What a directory of exported versions becomes: the good ones serve, the others are refused, and why."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import grpc
import numpy as np
import pytest

from export.artifact.checksums import checksums
from export.artifact.manifest import open_version
from export.formats.runtimes.onnx_scheduler_runtime import SchedulerOnnx
from serving.errors import InvalidError, UnknownModelError
from serving.limits import Limits
from serving.registry.discovery import find_versions, open_models
from serving.registry.registry import Registry
from serving.registry.served_version import EngineSettings, ModelError
from serving.v1 import translation_pb2 as wire
from tests.support.serving.echo import run, stub

SETTINGS = EngineSettings(slots=4)


@contextmanager
def opened(root: Path, settings: EngineSettings = SETTINGS) -> Iterator[Registry]:
    models = open_models(find_versions(root), settings)
    try:
        yield models
    finally:
        models.stop(10)


def found(root: Path) -> list[tuple[str, int]]:
    return [(place.name, place.version) for place in find_versions(root)]


def test_a_root_has_names_and_numbers_and_all_else_in_it_is_left_alone(root: Path) -> None:
    for other in ("fr-en/10", "en-de/3"):
        shutil.copytree(root / "fr-en/1", root / other)
    for aside in ("fr-en/.1-x", "fr-en/old", "fr-en/01", "fr-en/0", ".hidden/1"):
        (root / aside).mkdir(parents=True)
    (root / "fr-en" / "5").write_text("a file")
    assert sorted(found(root)) == [("en-de", 3), ("fr-en", 1), ("fr-en", 10)]


def test_a_link_is_called_what_it_is_called_itself_and_two_to_one_place_are_two(
    root: Path, tmp_path: Path
) -> None:
    store = root.rename(tmp_path / "store")
    (root / "en-de").mkdir(parents=True)
    (root / "french").symlink_to(store / "fr-en")
    for number in (2, 3):
        (root / f"en-de/{number}").symlink_to(store / "fr-en/1")
    (root / "en-de/4").symlink_to(tmp_path / "nowhere")
    assert found(root) == [("en-de", 2), ("en-de", 3), ("french", 1)]


def test_one_version_directory_is_a_root_of_its_own(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(root / "fr-en/1") == [("fr-en", 1)]
    (tmp_path / "current").symlink_to(root / "fr-en/1")
    assert found(tmp_path / "current") == [("fr-en", 1)]
    monkeypatch.chdir(root / "fr-en/1")
    assert found(Path()) == [("fr-en", 1)]
    monkeypatch.chdir(tmp_path)
    (root / "fr-en/1").rename(tmp_path / "mine")
    assert found(tmp_path / "mine") == [("mine", 1)]


def test_a_directory_without_models_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as told:
        find_versions(tmp_path)
    assert f"{tmp_path} has no models" in str(told.value)
    assert "keras-transformer export" in str(told.value)


def test_a_number_that_the_wire_cannot_carry_is_no_version_and_the_reason_is_told(root: Path) -> None:
    (root / "fr-en/1").rename(root / "fr-en/18446744073709551616")
    with pytest.raises(ModelError) as told:
        find_versions(root)
    assert str(told.value).splitlines()[1:] == [
        "  fr-en/18446744073709551616 is ignored: the number of a version must be below "
        "18446744073709551616; give it a lower one"
    ]
    (root / "fr-en/18446744073709551616").rename(root / "fr-en/18446744073709551615")
    assert found(root) == [("fr-en", 2**64 - 1)]
    assert wire.ModelVersion(version=2**64 - 1).version == 2**64 - 1
    with pytest.raises(ValueError, match="out of range"):
        wire.ModelVersion(version=2**64)


def test_the_highest_version_answers_unless_another_is_asked_for(root: Path) -> None:
    for other in ("fr-en/2", "fr-en/10", "en-de/3"):
        shutil.copytree(root / "fr-en/1", root / other)
    with opened(root) as models:
        assert models.find("fr-en", 0).version == 10
        assert models.find("fr-en", 2).version == 2
        assert models.find("en-de", 0).name == "en-de"
        with pytest.raises(InvalidError, match=r"Name one of en-de, fr-en") as several:
            models.find("", 0)
        assert several.value.field == "options.model"
        with pytest.raises(UnknownModelError, match=r"version 3 of fr-en .* Name one of 1, 2, 10"):
            models.find("fr-en", 3)


def test_a_version_that_is_damaged_is_refused_and_the_others_serve(root: Path) -> None:
    shutil.copytree(root / "fr-en/1", root / "fr-en/2")
    damaged = root / "fr-en/2/onnx/decoder.onnx"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    with opened(root) as models:
        assert models.find("", 0).version == 1
        with pytest.raises(UnknownModelError, match=r"version 2 of fr-en was refused. Name one of 1"):
            models.find("fr-en", 2)
        assert "onnx/decoder.onnx" in models.refused["fr-en", 2]


def test_with_no_good_version_there_is_nothing_to_serve(root: Path) -> None:
    (root / "fr-en/1/golden.jsonl").unlink()
    with pytest.raises(ModelError, match=r"every version was refused:\n  fr-en 1: (.|\n)*golden.jsonl"):
        open_models(find_versions(root), SETTINGS)


def test_graphs_that_no_runtime_can_load_are_refused_as_well(root: Path) -> None:
    shutil.copytree(root / "fr-en/1", root / "fr-en/2")
    version = open_version(root / "fr-en/2")
    (root / "fr-en/2/onnx/decoder.onnx").write_bytes(b"no graph")
    (root / "fr-en/2/manifest.json").unlink()
    manifest = replace(version.manifest, files=checksums(root / "fr-en/2"))
    (root / "fr-en/2/manifest.json").write_bytes(manifest.content())
    with opened(root) as models:
        assert [model.version for model in models.serving] == [1]
        assert models.refused["fr-en", 2].startswith("its graphs cannot be loaded: ")


def test_a_precision_that_was_not_exported_is_refused_with_how_to_export_it(
    exported: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "fr-en" / "1"
    shutil.copytree(exported, directory)
    version = open_version(directory)
    files = {name: each for name, each in version.manifest.files.items() if ".int8." not in name}
    for name in set(version.manifest.files) - set(files):
        (directory / name).unlink()
    manifest = replace(version.manifest, files=files, formats={"onnx": ("float32",)})
    (directory / "manifest.json").write_bytes(manifest.content())
    with pytest.raises(ModelError) as told:
        open_models(find_versions(directory), EngineSettings("int8"))
    assert str(told.value).splitlines()[1:] == [
        "  fr-en 1: it has onnx in float32; onnx in int8 is needed. Export it with --format onnx "
        "--quantize int8, or serve it with another --precision or --runtime"
    ]


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_the_wire_has_the_answers_that_the_exported_graphs_give_to_a_sentence_alone(
    exported: Path, precision: str
) -> None:
    version = open_version(exported)
    texts = [each.source for each in version.golden]
    tokenizer, longest = version.tokenizer, version.manifest.limits.source_tokens
    alone = SchedulerOnnx(exported / "onnx", precision, tokenizer.bos_id, tokenizer.eos_id, longest)
    expected = [alone.translate_ids([ids])[0] for ids in tokenizer.encode_source(texts)]

    async def scenario() -> None:
        models = await asyncio.to_thread(
            open_models, find_versions(exported), EngineSettings(precision, slots=5)
        )
        async with stub(*models.serving) as service:
            options = wire.Options(scores=True, loop_guard=False)
            request = wire.BatchTranslateRequest(texts=texts, options=options)
            segments = (await service.BatchTranslate(request)).segments
            for segment, answer in zip(segments, expected, strict=True):
                found = segment.translation
                assert [token.id for token in found.tokens] == answer.ids
                assert found.score == np.float32(answer.score)
                assert found.text == version.tokenizer.decode_target([answer.ids])[0]

    run(scenario)


def test_attention_is_that_of_the_exported_graph_and_its_rows_sum_to_one(exported: Path) -> None:
    text = "Bonjour.\nOù est la gare ?"

    async def scenario() -> None:
        models = await asyncio.to_thread(open_models, find_versions(exported), SETTINGS)
        async with stub(*models.serving) as service:
            options = wire.Options(alignment=True, scores=True)
            found = await service.Attend(wire.AttendRequest(text=text, options=options))
            answer = (await service.Translate(wire.TranslateRequest(text=text, options=options))).translation
            assert found.translation == answer
            tokens = [token.id for part in found.parts for token in part.target]
            assert tokens == [token.id for token in answer.tokens]
            assert [t.id for part in found.parts for t in part.source] == [t.id for t in answer.source_tokens]
            links, targets, sources = [], 0, 0
            for part in found.parts:
                encoder, decoder, cross = (array(each) for each in (part.encoder, part.decoder, part.cross))
                source, target = len(part.source), len(part.target)
                assert encoder.shape == (2, 2, source, source)
                assert decoder.shape == (2, 2, target, target)
                assert cross.shape == (2, 2, target, source)
                for each in (encoder, decoder, cross):
                    np.testing.assert_allclose(each.sum(-1), 1, atol=1e-6)
                assert np.all(np.triu(decoder, 1) == 0)  # nobody looks ahead
                looks = cross[0].mean(axis=0).argmax(axis=-1)  # of two layers the one before the last
                links += [(targets + t, sources + s) for t, s in enumerate(looks.tolist())]
                targets, sources = targets + target, sources + source
            assert [(link.target, link.source) for link in answer.alignment] == links
            assert len(found.parts) == 2

    run(scenario)


def test_attention_that_is_too_large_for_a_message_is_the_texts_fault(exported: Path) -> None:
    async def scenario() -> None:
        models = await asyncio.to_thread(open_models, find_versions(exported), SETTINGS)
        async with stub(*models.serving, limits=Limits(message_bytes=10_000)) as service:
            with pytest.raises(
                grpc.aio.AioRpcError, match=r"text has .* bytes of attention weights; the limit is 10,000"
            ):
                text, options = "Où est la gare, et où est la maison ?", wire.Options(loop_guard=False)
                await service.Attend(wire.AttendRequest(text=text, options=options))

    run(scenario)


def array(weights: wire.Weights) -> np.ndarray:
    return np.array(weights.values, np.float32).reshape(weights.shape)
