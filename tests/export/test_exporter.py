"""A version appears whole, as float32, held against the model; or it does not appear."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from export import exporter
from export.artifact.manifest import open_version
from export.export_request import ExportRequest
from export.exporter import ExportError, export_version
from export.golden_sentences import Chosen
from keras_transformer import TranslationModel
from keras_transformer.libraries import LibraryError
from keras_transformer.models.network import Network
from keras_transformer.models.recurrent import RecurrentTranslationModel
from keras_transformer.models.recurrent_network import RecurrentNetwork
from tests.support import fork_server
from tests.support.versions.small_model import ORIGIN, SENTENCES, exported, small_model


@pytest.fixture(scope="module")
def model() -> TranslationModel:
    return small_model()


@pytest.fixture(scope="module")
def run(model: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As a file, for processes that are killed."""
    path: Path = tmp_path_factory.mktemp("run") / "model.keras"
    model.save(path)
    return path


@pytest.fixture
def answered(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The golden answers of `model` are there: tests of other things need no search for them."""
    golden = list(open_version(whole).golden)
    monkeypatch.setattr(exporter, "golden_answers", lambda *_: golden)


EXPORTING = """
import os, signal, sys
from pathlib import Path
from export import exporter
from export.golden_sentences import Chosen, SourceSentence
from export.artifact.manifest import LearnedLengths, open_version
from export.export_request import ExportRequest, Origin
from keras_transformer import TranslationModel

def tell(line):
    if line.startswith(sys.argv[4]):
        os.kill(os.getpid(), signal.SIGKILL)

run, answered, output = map(Path, sys.argv[1:4])
exporter.golden_answers = lambda *_: list(open_version(answered).golden)
texts = [SourceSentence("Je suis étudiant."), SourceSentence("Merci.")]
exporter.export_version(
    TranslationModel.load(run),
    output,
    ExportRequest(("ctranslate2",)),
    Chosen(texts, texts),
    Origin(None, None, LearnedLengths(0, 128, 0)),
    tell,
)
"""


def killed_at(moment: str, run: Path, whole: Path, output: Path) -> None:
    """Exports, and is killed when this is told."""
    command = [sys.executable, "-c", EXPORTING, *map(str, (run, whole, output)), moment]
    done = fork_server.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.usefixtures("answered")
@pytest.mark.parametrize("moment", ["writing ctranslate2", "asking ctranslate2"])
def test_an_export_that_is_killed_leaves_no_version_and_the_next_one_works_and_cleans_up(
    moment: str, run: Path, whole: Path, model: TranslationModel, tmp_path: Path
) -> None:
    output = tmp_path / "fr-en" / "1"
    killed_at(moment, run, whole, output)
    (left,) = output.parent.iterdir()
    assert left.name.startswith(".1-")
    exported(model, output, "ctranslate2")
    assert list(output.parent.iterdir()) == [output]
    open_version(output)


@pytest.mark.usefixtures("answered")
def test_what_a_killed_export_left_goes_with_the_next_one_of_another_name(
    run: Path, whole: Path, model: TranslationModel, tmp_path: Path
) -> None:
    for name in ("1", "of-may"):
        killed_at("writing ctranslate2", run, whole, tmp_path / "fr-en" / name)
    assert len(list((tmp_path / "fr-en").iterdir())) == 1
    output = tmp_path / "fr-en" / "2"
    exported(model, output, "ctranslate2")
    assert list(output.parent.iterdir()) == [output]


@pytest.mark.usefixtures("answered")
@pytest.mark.parametrize("name", ["1", "2"])
def test_another_export_that_is_at_work_is_left_alone(
    name: str, run: Path, whole: Path, model: TranslationModel, tmp_path: Path
) -> None:
    output = tmp_path / "fr-en" / "1"
    exporting = EXPORTING.replace(
        "os.kill(os.getpid(), signal.SIGKILL)", "print(flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", exporting, *map(str, (run, whole, output)), "writing ctranslate2"]
    with fork_server.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout and other.stdin
        assert other.stdout.readline() == b"\n"  # it is in the middle
        ours = output.with_name(name)
        exported(model, ours, "ctranslate2")
        assert len(list(output.parent.iterdir())) == 2  # what it has written so far is still there
        whole = (ours / "manifest.json").read_bytes()
        other.stdin.close()
        assert other.wait(120) == (1 if ours == output else 0)  # it finds the version there
    assert set(output.parent.iterdir()) == {output, ours}
    assert (ours / "manifest.json").read_bytes() == whole


@pytest.mark.usefixtures("answered")
def test_what_only_looks_like_a_leftover_stays(
    model: TranslationModel, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, file, link, empty = (tmp_path / f".1-abcdefg{letter}" for letter in "hijk")
    folder.mkdir()
    empty.mkdir()
    (folder / ".export").touch()
    (folder / "notes.txt").write_text("mine")
    file.write_text("a file")
    link.symlink_to(tmp_path_factory.mktemp("empty"))
    exported(model, tmp_path / "1", "ctranslate2")
    assert (folder / "notes.txt").read_text() == "mine"
    assert file.read_text() == "a file"
    assert link.is_dir() and empty.is_dir()


@pytest.mark.usefixtures("answered")
@pytest.mark.parametrize("size", [1000, 20_000])
def test_on_a_full_disk_it_is_an_error_and_nothing_is_left(
    size: int, model: TranslationModel, tmp_path: Path, disk_of: Callable[[int], AbstractContextManager[None]]
) -> None:
    with disk_of(size), pytest.raises(OSError, match="File too large"):
        exported(model, tmp_path / "fr-en" / "1", "ctranslate2")
    assert list((tmp_path / "fr-en").iterdir()) == []


@pytest.mark.usefixtures("answered")
def test_a_full_disk_that_tensorflow_finds_is_told_as_well(
    model: TranslationModel, tmp_path: Path, disk_of: Callable[[int], AbstractContextManager[None]]
) -> None:
    with disk_of(400_000), pytest.raises(ExportError) as told:
        exported(model, tmp_path / "fr-en" / "1", "saved_model")
    assert str(told.value).startswith("SavedModel could not be written: ")
    assert str(told.value).endswith("File too large")
    assert list((tmp_path / "fr-en").iterdir()) == []


def test_what_is_there_is_never_overwritten(model: TranslationModel, tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    with pytest.raises(FileExistsError) as told:
        exported(model, tmp_path / "1", "ctranslate2")
    assert str(told.value) == (
        f"{tmp_path / '1'} exists and is never overwritten: remove it or choose another."
    )
    assert list((tmp_path / "1").iterdir()) == []


def test_a_model_of_mixed_precision_is_exported_in_float32(
    model: TranslationModel, whole: Path, tmp_path: Path
) -> None:
    mixed = exported(model.with_policy("mixed_bfloat16"), tmp_path / "mixed", "ctranslate2")
    plain = open_version(whole)
    assert mixed.golden == plain.golden
    assert mixed.manifest.files == plain.manifest.files


def test_the_same_model_gives_the_same_files(model: TranslationModel, whole: Path, tmp_path: Path) -> None:
    again = exported(model, tmp_path / "1", "ctranslate2")
    assert again.manifest.files == open_version(whole).manifest.files


def test_a_model_that_a_runtime_would_not_follow_is_not_exported(tmp_path: Path) -> None:
    model = small_model()
    real = model.step

    def step(token: object, position: object, state: object) -> object:
        """The model says something else than its weights do."""
        logits, state = real(token, position, state)
        return -logits, state

    model.step = step
    with pytest.raises(ExportError) as told:
        exported(model, tmp_path / "fr-en" / "1", "ctranslate2")
    assert re.match(
        r"nothing was written, because runtimes disagree: ctranslate2 float32 answers 1\d of 16 "
        r"sentences differently from the model, although the model's two highest logits differed by "
        r"0\.0001 or more\b",
        str(told.value),
    )
    assert "with a beam of 5" in str(told.value)
    assert list((tmp_path / "fr-en").iterdir()) == []


def test_what_has_no_tokenizer_or_no_sentence_is_refused(model: TranslationModel, tmp_path: Path) -> None:
    bare = TranslationModel(Network(1, 1, 8, 8, 1), 30)
    bare.build()
    with pytest.raises(ExportError) as told:
        exported(bare, tmp_path / "1", "ctranslate2")
    assert str(told.value) == "this model has no tokenizer: create it with tokenizer=... to export it"
    with pytest.raises(ExportError) as told:
        export_version(model, tmp_path / "1", ExportRequest(("ctranslate2",)), Chosen([], []), ORIGIN, print)
    assert str(told.value) == "an export needs golden sentences: give at least one that is not blank"
    assert list(tmp_path.iterdir()) == []


def test_a_recurrent_model_is_refused_by_its_class(tmp_path: Path) -> None:
    model: Any = RecurrentTranslationModel(RecurrentNetwork(width=6, units=10), 30)
    with pytest.raises(ExportError, match="only a TranslationModel is exported; got a Recurrent"):
        exported(model, tmp_path / "1", "ctranslate2")
    assert list(tmp_path.iterdir()) == []


def test_every_problem_of_a_request_is_told_at_once() -> None:
    with pytest.raises(ValueError) as told:
        ExportRequest(("gguf", "onxx"), "int4")
    assert str(told.value) == (
        "there is no format 'gguf'; there are onnx, ctranslate2, saved_model; there is no format 'onxx'; "
        "there are onnx, ctranslate2, saved_model; int4 is a precision of no format: name such a format"
    )
    with pytest.raises(ValueError) as told:
        ExportRequest(())
    assert str(told.value) == "an export needs at least one format; there are onnx, ctranslate2, saved_model"
    with pytest.raises(ValueError) as told:
        ExportRequest(("ctranslate2",), "int8")
    assert str(told.value) == "int8 is a precision of onnx: name such a format"
    with pytest.raises(ValueError) as told:
        ExportRequest(("saved_model",), with_tokenizer=True)
    assert str(told.value) == "a tokenizer is written into an ONNX file: name the format onnx too"
    assert ExportRequest(("ctranslate2", "onnx"), "int8").precisions() == {
        "onnx": ("float32", "int8"),
        "ctranslate2": ("float32",),
    }


def test_a_library_that_is_not_installed_is_told_before_anything_is_written(
    model: TranslationModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)  # as Python says that there is none
    with pytest.raises(LibraryError) as told:
        exported(model, tmp_path / "1", "ctranslate2")
    assert str(told.value) == (
        "this export needs ctranslate2, not installed in this environment: "
        "install the package from its clone with its extra `export`"
    )
    assert list(tmp_path.iterdir()) == []


def test_it_tells_what_it_does_with_times_and_sizes(model: TranslationModel, tmp_path: Path) -> None:
    told: list[str] = []
    sentences = Chosen(SENTENCES[:2], SENTENCES[:2])
    export_version(model, tmp_path / "1", ExportRequest(("ctranslate2",)), sentences, ORIGIN, told.append)
    assert told[0] == "translating 2 golden sentences ..."
    assert told[1] == "writing ctranslate2 ..."
    assert told[2].split()[1:3] == ["MB", "in"]
    assert told[3:] == ["asking ctranslate2 float32: 2 sentences ..."]
