"""Every format of a version says the same, and whoever says something else is found."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from export.artifact.golden import BEAM
from export.artifact.manifest import open_version
from export.calibration import observed_ranges
from export.formats.writers.onnx_scheduler import write_scheduler_onnx
from export.formats.writers.onnx_translate import write_translate_onnx
from export.formats.writers.saved_model import write_saved_model
from export.translator import lightest
from export.verify import certificate
from keras_transformer import Tokenizer, TranslationModel
from keras_transformer.cli import main
from keras_transformer.graphs.int8 import Int8
from keras_transformer.models.network import Network
from tests.support.commands import failed
from tests.support.versions.damages import golden, summed_again
from tests.support.versions.one_format import only
from tests.support.versions.small_model import PAIRS, small_model

WITH_BEAMS = (
    ("saved_model", "float32"),
    ("onnx/scheduler", "float32"),
    ("onnx/scheduler", "int8"),
    ("ctranslate2", "float32"),
)


@pytest.fixture(scope="module")
def model() -> TranslationModel:
    return small_model()


@pytest.fixture
def full(everything: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(everything, tmp_path / "1"))


def test_every_runtime_says_what_the_model_says_token_by_token(full: Path) -> None:
    found = certificate(open_version(full), notify=lambda line: None)
    assert found.broken == found.differences == ()
    rows = {(row.runtime, row.precision, row.beam): row for row in found.rows}
    assert set(rows) == {
        *((runtime, precision, beam) for runtime, precision in WITH_BEAMS for beam in (1, BEAM)),
        ("onnx/translate", "float32", 1),
        ("onnx/text", "float32", 1),
    }
    for (runtime, precision, _), row in rows.items():
        assert row.sentences == 24
        if precision == "float32":
            assert row.identical == 24
            assert row.score_difference is not None and row.score_difference < 2e-5
        assert row.texts == (24 if runtime in ("saved_model", "onnx/text") else None)


def test_info_shows_bleu_with_a_beam_beside_that_of_greedy_search(
    everything: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quality = open_version(everything).manifest.quality
    assert quality.beam is not None
    assert (quality.beam.beam, quality.beam.sentences) == (BEAM, 24)
    assert quality.beam.greedy_bleu == pytest.approx(quality.scores[0].value)
    assert main(["info", str(everything)]) == 0
    assert f"BLEU {quality.beam.bleu:.2f} with a beam of 5, " in capsys.readouterr().out


def test_a_tokenizer_in_the_graph_that_is_another_breaks_the_promise(full: Path) -> None:
    only(full, "saved_model")
    other = small_model()
    other.tokenizer = Tokenizer.train(PAIRS, 800, kind="unigram", source_lang="fr", target_lang="en")
    shutil.rmtree(full / "variables")
    write_saved_model(other, full)
    (full / "assets").rmdir()
    for name in ("saved_model.pb", "fingerprint.pb"):
        summed_again(full, name)
    for path in (full / "variables").iterdir():
        summed_again(full, f"variables/{path.name}")
    found = certificate(open_version(full), notify=lambda line: None)
    broken, with_beam = found.broken
    assert "saved_model float32 with a beam of 5" in with_beam
    assert re.fullmatch(
        r"saved_model float32 translates \d+ of 24 texts differently from their tokens", broken
    )


def test_int8_that_loses_more_than_a_bleu_breaks_the_promise(full: Path) -> None:
    """Here the model's own answers are the right ones, and int8 is that of another model."""

    def right(lines: list[bytes]) -> list[bytes]:
        sentences = [json.loads(line) for line in lines]
        return [json.dumps(each | {"reference": each["target"]}).encode() + b"\n" for each in sentences]

    only(full, "onnx")
    golden(full, right)
    other = small_model()
    other.target_embedding.embeddings.assign(other.target_embedding.embeddings[::-1])
    rows = [each.source_ids for each in open_version(full).golden]
    write_scheduler_onnx(other, full / "onnx", Int8(observed_ranges(other, rows, 2, 3)))
    for name in ("encoder", "decoder"):
        summed_again(full, f"onnx/{name}.int8.onnx")
    found = certificate(open_version(full), notify=lambda line: None)
    row = next(row for row in found.rows if row.precision == "int8")
    assert row.bleu is not None and row.bleu_change == pytest.approx(row.bleu - 100.0)
    assert found.differences == ()
    assert found.broken == (
        f"onnx/scheduler int8 loses {100.0 - row.bleu:.2f} BLEU on 24 sentences; 1 is allowed. With few "
        "sentences the loss may be chance",
    )


def test_ids_that_the_tokenizer_has_not_are_told(full: Path) -> None:
    """translate.onnx of a model with another vocabulary, which is larger."""
    only(full, "onnx")
    tokenizer = Tokenizer.train(PAIRS, 900, source_lang="fr", target_lang="en")
    other = TranslationModel(Network(1, 1, 16, 24, 2), tokenizer.source_size, tokenizer=tokenizer)
    other.build()
    norm, table = other.decoder.norm, np.zeros((900, 16), np.float32)
    norm.gamma.assign(np.zeros(16))
    norm.beta.assign(np.eye(16)[0])  # the decoder's vector, whatever comes
    table[850, 0] = 1.0
    other.target_embedding.embeddings.assign(table)
    write_translate_onnx(other, full / "onnx" / "translate.onnx")
    summed_again(full, "onnx/translate.onnx")
    found = certificate(open_version(full), notify=lambda line: None)
    (broken,) = found.broken
    assert broken == (
        "onnx/translate float32 answers with ids that do not exist: row 0 has the id 850, but this "
        "vocabulary has the ids 0 to 799"
    )


def test_the_lightest_runtime_that_is_installed_translates(
    everything: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = open_version(everything)
    assert str(lightest(version)) == "onnx/scheduler float32"
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert str(lightest(version)) == "ctranslate2 float32"
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    assert str(lightest(version)) == "saved_model float32"
    monkeypatch.setitem(sys.modules, "tensorflow_text", None)
    assert str(lightest(version)) == "onnx/scheduler float32"  # whose error says what to install


def test_a_beam_names_the_missing_library_and_no_format_that_the_version_has(
    everything: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    told = failed(capsys, "translate", everything, "--input", os.devnull, "--beam", "4")
    assert told.startswith("onnx/scheduler float32 needs onnxruntime, not installed in this environment")


def test_translate_takes_the_scheduler_and_needs_no_tensorflow(full: Path, model: TranslationModel) -> None:
    code = (
        "import sys; from keras_transformer.cli import main; main(sys.argv[1:])\n"
        "print(*sorted({'tensorflow', 'keras', 'ctranslate2'} & set(sys.modules)))"
    )
    texts = "".join(f"{text}\n" for text in ("Merci.", "Où est la gare ?"))
    command = [sys.executable, "-c", code, "translate", str(full)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, input=texts)
    assert done.stdout.splitlines() == [*model.translate(["Merci.", "Où est la gare ?"]), ""]
    assert "Translating fr to en with onnx/scheduler float32 ..." in done.stderr
