"""`keras-transformer translate`: a line out for a line in, in this process and as a user runs it."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_transformer import TranslationModel
from keras_transformer.cli import main
from keras_transformer.models.network import Network
from keras_transformer.text.phrasebook import phrasebook
from keras_transformer.text.tokenizer import Tokenizer

TEXTS = ["Je suis étudiant.", "Merci.", "Où est la gare ?", "Non.", "Deux cafés, s'il vous plaît."]


@pytest.fixture(scope="module")
def model() -> TranslationModel:
    tokenizer = Tokenizer.train(phrasebook("fr-en", "train", 200), 400)
    keras.utils.set_random_seed(5)
    model = TranslationModel(Network(1, 1, 16, 24, 2), tokenizer.source_size, tokenizer=tokenizer)
    model.build()
    for weight in model.trainable_variables:
        if len(weight.shape) > 1:
            weight.assign(weight * 2.0)  # larger than at first: the answers depend on the source
    return model


@pytest.fixture(scope="module")
def run(model: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What translate needs of a run directory."""
    path = tmp_path_factory.mktemp("run")
    model.save(path / "model.keras")
    return path


@pytest.fixture
def translated(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[bytes], str]:
    """translated(bytes): what the command prints for a file of these bytes."""

    def translated(content: bytes) -> str:
        path = tmp_path / "input.txt"
        path.write_bytes(content)
        assert main(["translate", str(run), "--input", str(path)]) == 0
        return capsys.readouterr().out

    return translated


def test_each_line_has_its_translation_in_its_place(
    translated: Callable[[bytes], str], model: TranslationModel
) -> None:
    out = translated("".join(f"{text}\n" for text in TEXTS).encode())
    assert out.splitlines() == model.translate(TEXTS)
    assert len(set(out.splitlines())) > 1


def test_a_last_line_without_an_end_and_windows_line_ends_are_lines(
    translated: Callable[[bytes], str], model: TranslationModel
) -> None:
    assert translated(b"Non.\r\nMerci.\r\nNon.").splitlines() == model.translate(["Non.", "Merci.", "Non."])


def test_only_a_line_feed_ends_a_line(translated: Callable[[bytes], str]) -> None:
    assert translated("a\u2028b\u0085c\x0bd\x0ce\rf\n".encode()).count("\n") == 1


def test_nothing_in_nothing_out(translated: Callable[[bytes], str]) -> None:
    assert translated(b"") == ""


def test_blank_lines_stay_blank(translated: Callable[[bytes], str]) -> None:
    lines = translated(b"Merci.\n\n  \t\nMerci.\n\n").split("\n")
    assert lines[1:3] == ["", ""]
    assert lines[4:] == ["", ""]
    assert lines[0] == lines[3] != ""


def saying(model: TranslationModel, piece: str) -> TranslationModel:
    """A copy that says this piece and nothing else, up to the limit."""
    copy = model.with_policy("float32")
    norm, table = copy.decoder.norm, np.zeros((400, 16), np.float32)
    norm.gamma.assign(np.zeros(16))
    norm.beta.assign(np.eye(16)[0])  # the decoder's vector, whatever comes: the piece's own is nearest
    table[model.tokenizer.pieces_target(range(400)).index(piece), 0] = 1.0
    copy.target_embedding.embeddings.assign(table)
    return copy


def test_a_translation_is_one_line_even_where_the_model_says_line_ends(
    model: TranslationModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saying(model, "<0x0A>").save(tmp_path / "model.keras")
    (tmp_path / "input.txt").write_text("Non.\nMerci.\n")
    assert main(["translate", str(tmp_path), "--input", str(tmp_path / "input.txt")]) == 0
    assert capsys.readouterr().out.count("\n") == 2


def test_what_is_not_utf8_is_told_with_file_and_line(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "letters.txt"
    path.write_bytes("Non.\nFa\u00e7ade.\n".encode("latin-1"))
    assert main(["translate", str(run), "--input", str(path)]) == 1
    err = capsys.readouterr().err
    assert f"keras-transformer translate: {path}, line 2: not UTF-8 (" in err
    assert "0xe7 in position 2" in err


def test_what_was_asked_to_be_translated_must_be_there(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", str(run), "--input", str(tmp_path / "none.txt")]) == 1
    assert f"translate: {tmp_path}/none.txt is no file" in capsys.readouterr().err


def test_where_no_model_is_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "half.keras").write_bytes(b"PK\x03\x04 cut off")
    for place, why in (
        ("nowhere", f"{tmp_path}/nowhere does not exist: name a run directory or a .keras file."),
        ("", f"there is no model in {tmp_path}: {tmp_path}/model.keras does not exist."),
        ("half.keras", "half.keras"),
    ):
        assert main(["translate", str(tmp_path / place)]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert why in err.splitlines()[-1]


@pytest.mark.parametrize("arguments", [[], ["run", "--inputt", "x"], ["run", "more"]])
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["translate", *arguments])
    assert stopped.value.code == 2
    assert "usage: keras-transformer translate" in capsys.readouterr().err


def test_a_terminal_of_another_encoding_gets_utf8(
    model: TranslationModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saying(model, "é").save(tmp_path / "model.keras")
    (tmp_path / "input.txt").write_text("Non.\n")
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))  # as under LC_ALL=C
    assert main(["translate", str(tmp_path), "--input", str(tmp_path / "input.txt")]) == 0
    assert set(written.getvalue().decode()) == {"é", "\n"}


def test_in_a_pipe_it_ends_quietly_when_the_reader_leaves(run: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    process = subprocess.Popen(
        [sys.executable, "-m", "keras_transformer", "translate", str(run)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
    )  # fmt: skip
    assert process.stdin and process.stdout and process.stderr
    process.stdin.write(b"Non.\n" * 1024)  # a chunk, whose answer is read by one line, as `head -1` does
    process.stdin.flush()
    assert process.stdout.readline()
    process.stdout.close()
    process.stdin.write(b"Non.\n")
    process.stdin.close()
    err = process.stderr.read().decode()
    process.stderr.close()
    assert err == "Loading Keras and TensorFlow ...\n"
    assert process.wait(60) == 0
