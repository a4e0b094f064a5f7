"""What a manifest says is what is in the directory, and what is read is what was written."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from export.artifact.manifest import Manifest, Version, looks_exported, open_version
from export.artifact.quality_card import sizes
from export.artifact.schema import RecordError, parsed, record
from export.formats.registry import FORMATS, RUNTIMES, format_of
from keras_transformer import TranslationModel, __version__
from keras_transformer.text.lengths import longest_answer
from tests.support.versions.small_model import ORIGIN, exported, small_model


@pytest.fixture(scope="module")
def model() -> TranslationModel:
    return small_model(joint=False, activation="gelu")


@pytest.fixture(scope="module")
def version(model: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> Version:
    return exported(model, tmp_path_factory.mktemp("models") / "fr-en" / "1", "ctranslate2")


def test_it_describes_the_model(version: Version, model: TranslationModel) -> None:
    manifest, tokenizer = version.manifest, model.tokenizer
    assert manifest.format == 1
    assert (manifest.languages.source, manifest.languages.target) == ("fr", "en")
    assert manifest.network == model.network
    assert (manifest.vocabulary.source, manifest.vocabulary.target) == (
        tokenizer.source_size,
        tokenizer.target_size,
    )
    assert not manifest.vocabulary.joint
    special = manifest.special_ids
    assert (special.padding, special.start, special.end) == (0, 2, 3)
    assert manifest.formats == {"ctranslate2": ("float32",)}
    assert manifest.lengths == ORIGIN.lengths
    assert manifest.versions["keras_transformer"] == __version__
    assert {"keras", "tensorflow", "ctranslate2", "sentencepiece"} <= set(manifest.versions)
    made = datetime.fromisoformat(manifest.created)
    assert timedelta(0) <= datetime.now(UTC) - made < timedelta(minutes=10)


def test_its_limits_are_the_rule_for_the_length_of_answers(version: Version) -> None:
    limits = version.manifest.limits
    assert limits.source_tokens == limits.target_tokens == version.manifest.network.max_length
    for length in (1, 7, 100):
        assert limits.answer_factor * length + limits.answer_extra == longest_answer(length)


def test_every_file_is_in_it_with_its_size_and_sum(version: Version) -> None:
    files = {
        path.relative_to(version.directory).as_posix(): path
        for path in version.directory.rglob("*")
        if path.is_file() and path.name != "manifest.json"
    }
    assert set(files) == set(version.manifest.files)
    for name, each in version.manifest.files.items():
        content = files[name].read_bytes()
        assert (each.bytes, each.sha256) == (len(content), sha256(content).hexdigest())


def test_the_card_says_how_good_large_and_fast_it_is(version: Version, model: TranslationModel) -> None:
    card = version.manifest.quality
    assert (card.corpus, card.pairs) == (ORIGIN.corpus, ORIGIN.pairs)
    assert card.parameters == sum(weight.value.shape.num_elements() for weight in model.trainable_variables)
    assert card.sentences == 24
    assert [each.name for each in card.scores] == ["BLEU", "chrF", "TER"]
    assert all("version:" in each.signature for each in card.scores)
    assert set(card.bytes) == {"all", "ctranslate2"}
    assert sum(card.bytes.values()) == sum(each.bytes for each in version.manifest.files.values())
    assert [row.beam for row in card.agreement] == [1, 5]
    for row in card.agreement:
        assert (row.runtime, row.precision) == ("ctranslate2", "float32")
        assert row.identical == row.sentences == 16
        assert row.sentences_per_second > 0
    assert card.machine.processor
    assert (card.machine.cores, card.machine.threads) == (os.cpu_count(), 1)


def test_what_is_read_is_what_was_written(version: Version) -> None:
    content = (version.directory / "manifest.json").read_bytes()
    assert record(Manifest, parsed(content)).content() == content
    assert list(json.loads(content)) == [
        "format", "created", "languages", "network", "vocabulary", "special_ids", "limits", "lengths",
        "formats", "versions", "quality", "files",
    ]  # fmt: skip


def test_a_version_has_its_tokenizer_and_its_golden_sentences(
    version: Version, model: TranslationModel
) -> None:
    again = open_version(version.directory)
    assert again.golden == version.golden
    assert again.tokenizer.get_config() == model.tokenizer.get_config()
    assert (again.directory / "golden.jsonl").is_file()


def test_a_version_that_lies_elsewhere_under_another_name_is_the_same(
    version: Version, tmp_path: Path
) -> None:
    copy = open_version(Path(shutil.copytree(version.directory, tmp_path / "élève 2")))
    assert copy.manifest == version.manifest


def test_a_version_is_told_from_a_run_and_from_a_file(version: Version, tmp_path: Path) -> None:
    assert looks_exported(version.directory)
    assert not looks_exported(tmp_path)
    (tmp_path / "model.keras").write_bytes(b"")
    assert not looks_exported(tmp_path)
    assert not looks_exported(tmp_path / "model.keras")


def test_every_file_belongs_to_a_format_and_every_runtime_to_one_that_is_written() -> None:
    assert sizes({}) == {}
    assert {format_of(name) for name in ("golden.jsonl", "tokenizer/about.json", "README.md")} == {"all"}
    for name, kind in FORMATS.items():
        assert {format_of(file) for files in kind.files.values() for file in files} == {name}
    assert all(format_of(each.file) == each.format for each in RUNTIMES)
    assert {(each.format, each.precision) for each in RUNTIMES} == {
        (name, precision) for name, kind in FORMATS.items() for precision in kind.files
    }


def test_a_record_tells_all_that_is_wrong_with_where() -> None:
    @dataclass(frozen=True)
    class Inner:
        name: str
        sizes: tuple[int, ...]

    @dataclass(frozen=True)
    class Outer:
        inner: dict[str, Inner]
        share: float | None
        ready: bool = True

    right = {"inner": {"a": {"name": "x", "sizes": [1, 2]}}, "share": 1, "ready": False}
    assert record(Outer, right) == Outer({"a": Inner("x", (1, 2))}, 1, False)
    with pytest.raises(RecordError) as told:
        record(Outer, {"inner": {"a": {"name": None, "sizes": [1, "2"]}, "b": []}, "share": "much"})
    assert told.value.problems == [
        "ready is missing",
        "inner.a.name must be a text; got null",
        'inner.a.sizes[1] must be a whole number; got "2"',
        "inner.b must be an object; got []",
        'share must be a number; got "much"',
    ]
    with pytest.raises(RecordError) as told:
        record(Outer, {"inner": [], "share": float("inf"), "ready": 1})
    assert told.value.problems == [
        "inner must be an object; got []",
        "share must be a number; got Infinity",
        "ready must be true or false; got 1",
    ]


def test_every_number_of_a_manifest_has_an_upper_bound(version: Version) -> None:
    content = version.manifest.content()

    def numbers(values: Any) -> Iterator[tuple[Any, Any]]:
        each = values.items() if isinstance(values, dict) else enumerate(values)
        for key, value in each:
            if isinstance(value, dict | list):
                yield from numbers(value)
            elif isinstance(value, int | float) and not isinstance(value, bool):
                yield values, key

    values = parsed(content)
    found = list(numbers(values))
    assert len(found) > 40
    for place, key in found:
        before, place[key] = place[key], 10**400
        with pytest.raises(RecordError, match=r"^[^;]* must be [-0-9]+ to [0-9]+; got 10{59} ...$"):
            record(Manifest, values)
        place[key] = before
    assert record(Manifest, values) == version.manifest


def test_a_key_that_stands_twice_among_many_is_refused_at_once() -> None:
    """With a search of all keys for each of them this takes a quarter of an hour."""
    keys = ", ".join(f'"k{number}": 1' for number in range(200_000))
    with pytest.raises(RecordError, match='the key "k7" is duplicate'):
        parsed(f'{{{keys}, "k7": 2}}'.encode())


def test_a_version_is_read_without_a_framework(version: Version) -> None:
    code = (
        "import sys; from pathlib import Path; from export.artifact.manifest import open_version\n"
        "open_version(Path(sys.argv[1]))\n"
        "print(*sorted({'tensorflow', 'keras', 'onnx', 'onnxruntime', 'ctranslate2'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, str(version.directory)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == "\n"
