"""`keras-transformer translate`: a line out for a line in."""

import gzip
import io
import json
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from keras_transformer import TranslationModel
from keras_transformer.cli import main
from keras_transformer.cli._lines import LineReader
from keras_transformer.cli.translate import Portions, Progress, translated
from keras_transformer.models.network import Network
from keras_transformer.models.translate import translate_sentences
from keras_transformer.text.sentences import Lengths, Parts
from tests.support.commands import failed

TEXTS = ["Je suis étudiant.", "Merci.", "Où est la gare ?", "Non.", "Deux cafés, s'il vous plaît."]


@pytest.fixture
def answered(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[bytes], str]:
    """answered(bytes): what the command prints for a file of these bytes."""

    def answered(content: bytes) -> str:
        path = tmp_path / "input.txt"
        path.write_bytes(content)
        assert main(["translate", str(run), "--input", str(path)]) == 0
        return capsys.readouterr().out

    return answered


def test_each_line_has_its_translation_in_its_place(
    answered: Callable[[bytes], str], model: TranslationModel
) -> None:
    out = answered("".join(f"{text}\n" for text in TEXTS).encode())
    assert out.splitlines() == model.translate(TEXTS)
    assert len(set(out.splitlines())) > 1


def test_a_last_line_without_an_end_and_windows_line_ends_are_lines(
    answered: Callable[[bytes], str], model: TranslationModel
) -> None:
    assert answered(b"Non.\r\nMerci.\r\nNon.").splitlines() == model.translate(["Non.", "Merci.", "Non."])


def test_only_a_line_feed_ends_a_line(answered: Callable[[bytes], str]) -> None:
    assert answered("a\u2028b\u0085c\x0bd\x0ce\rf\n".encode()).count("\n") == 1


def test_nothing_in_nothing_out(answered: Callable[[bytes], str]) -> None:
    assert answered(b"") == ""


def test_blank_lines_stay_blank(answered: Callable[[bytes], str]) -> None:
    lines = answered(b"Merci.\n\n  \t\nMerci.\n\n").split("\n")
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


def test_a_line_that_repeats_itself_is_cut_and_told_in_every_form(
    model: TranslationModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saying(model, "</s>").save(tmp_path / "ends.keras")
    saying(model, ".").save(tmp_path / "loops.keras")
    (tmp_path / "input.txt").write_text("Non.\n\nMerci.\n")

    def lines(name: str, *options: str) -> tuple[list[str], str]:
        command = ["translate", str(tmp_path / name), "--input", str(tmp_path / "input.txt"), *options]
        assert main(command) == 0
        out, err = capsys.readouterr()
        return out.splitlines(), err

    out, err = lines("loops.keras")
    assert out == [".", "", "."]
    assert "2 lines with a loop: the translation repeated itself" in err
    out, _ = lines("loops.keras", "--scores")
    assert [line.split("\t")[1:] for line in out] == [[".", "loop"], [""], [".", "loop"]]
    for options in ((), ("--beam", "3")):
        out, _ = lines("loops.keras", "--json", *options)
        found = [answer for sentence in json.loads(out[0])["sentences"] for answer in sentence["answers"]]
        assert {answer["finish_reason"] for answer in found} == {"loop"}
    out, err = lines("loops.keras", "--no-loop-guard")
    assert out[0].startswith("....")
    assert "loop" not in err
    out, err = lines("ends.keras", "--json")
    assert json.loads(out[0])["sentences"][0]["answers"][0]["finish_reason"] == "stop"
    assert "loop" not in err


def test_white_space_around_a_line_stays(answered: Callable[[bytes], str], model: TranslationModel) -> None:
    assert answered("  Non.\u3000\n\tMerci. \n".encode()).split("\n") == [
        f"  {model.translate(['Non.'])[0]}\u3000",
        f"\t{model.translate(['Merci.'])[0]} ",
        "",
    ]


def test_sentences_of_a_line_are_translated_one_by_one(
    answered: Callable[[bytes], str], model: TranslationModel
) -> None:
    one, two, three = model.translate(["Merci.", "Où est la gare ?", "Non."])
    assert answered("Merci.  Où est la gare ? Non.\n".encode()) == f"{one}  {two} {three}\n"


def test_lines_of_several_sentences_stay_together_where_the_corpus_has_such(
    model: TranslationModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    used_to_two = model.with_policy("float32")
    used_to_two.lengths = Lengths.learned_from(
        ["Merci. Où est la gare ?"] * 5 + ["Non."] * 100, model.tokenizer.count_source
    )
    used_to_two.save(tmp_path / "model.keras")
    lines = ["Merci. Où est la gare ?", "Où est la gare ? Où est la gare ? Où est la gare ?"]
    (tmp_path / "input.txt").write_text("".join(f"{line}\n" for line in lines))
    assert main(["translate", str(tmp_path), "--input", str(tmp_path / "input.txt")]) == 0
    together, alone = translate_sentences(model, ["Merci. Où est la gare ?", "Où est la gare ?"])
    assert together != " ".join(model.translate(["Merci.", "Où est la gare ?"]))
    assert capsys.readouterr().out.splitlines() == [together, " ".join([alone] * 3)]


def test_a_sentence_longer_than_any_that_was_learned_is_translated_in_pieces_and_that_is_told(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], model: TranslationModel
) -> None:
    words = " ".join(["gare"] * 400)
    (tmp_path / "input.txt").write_text(f"{words}.\n")
    assert main(["translate", str(run), "--input", str(tmp_path / "input.txt")]) == 0
    out, err = capsys.readouterr()
    pieces = Parts.of(f"{words}.", model.tokenizer.count_source, Lengths(0, 128))
    assert out == " ".join(model.translate(pieces.texts)) + "\n"
    assert len(pieces.texts) > 2
    assert err.endswith(
        "1 sentence longer than the 128 tokens of the model's training sentences: translated in parts\n"
    )


def test_a_model_without_a_tokenizer_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = TranslationModel(Network(1, 1, 16, 24, 2), 300)
    model.build()
    model.save(tmp_path / "model.keras")
    (tmp_path / "input.txt").write_text("Non.\n")
    assert main(["translate", str(tmp_path), "--input", str(tmp_path / "input.txt")]) == 1
    assert f"translate: {tmp_path} has no tokenizer" in capsys.readouterr().err


def test_lines_that_are_strange_are_lines(answered: Callable[[bytes], str]) -> None:
    strange = b"\0\nNon.\0\r\r\n" + b"a" * 100_000 + b"\n" + b"\r\n" + b"\xef\xbb\xbf\n" + b"! " * 5000
    lines = answered(strange).split("\n")
    assert len(lines) == 7
    assert lines[3] == lines[6] == ""


def test_what_is_not_utf8_is_told_with_file_and_line_after_the_lines_before_it(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], model: TranslationModel
) -> None:
    path = tmp_path / "letters.txt"
    path.write_bytes("Non.\nMerci.\nFa\u00e7ade.\nNon.\n".encode("latin-1"))
    assert main(["translate", str(run), "--input", str(path)]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines() == model.translate(["Non.", "Merci."])
    assert (
        f"\n2 lines done\nkeras-transformer translate: {path}, line 3: 0xE7 at byte 3 of the line "
        "(15 of the file) is not UTF-8 (invalid continuation byte): convert the file, for example with "
        f"iconv -f WINDOWS-1252 -t UTF-8 {path}.\n"
    ) in err
    path.write_bytes(b"\xe7\n")
    assert main(["translate", str(run), "--input", str(path)]) == 1
    assert f"...\nkeras-transformer translate: {path}, line 1: 0xE7 at byte 1 " in capsys.readouterr().err


def test_a_gzipped_text_is_translated_and_a_text_of_another_encoding_is_named_as_train_does(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], model: TranslationModel
) -> None:
    text = "".join(f"{line}\n" for line in ("Merci.", "Non.", "Où est la gare ?"))
    answers = model.translate(text.splitlines())
    two = text.index("\n") + 1
    whole = gzip.compress(text[:two].encode()) + gzip.compress(text[two:].encode())  # as cat joins them
    for name, content in (("a.txt.gz", whole), ("a", whole), ("b.txt", b"\xef\xbb\xbf" + text.encode())):
        path = tmp_path / name
        path.write_bytes(content)
        capsys.readouterr()
        assert main(["translate", str(run), "--input", str(path)]) == 0
        assert capsys.readouterr().out.splitlines() == answers
    for name, content, why in (
        (
            "utf16.txt",
            text.encode("utf-16"),
            "is UTF-16, not UTF-8 (it starts with the bytes FF FE): ",
        ),
        ("c.txt.gz", text.encode(), "is named .gz but is not gzipped: rename it"),
        ("cut.gz", whole[:-8], "is cut off: its gzip data end too early"),
        ("damaged.gz", whole[:-8] + bytes(8), "has damaged gzip data"),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        capsys.readouterr()
        assert main(["translate", str(run), "--input", str(path)]) == 1
        told = capsys.readouterr().err.splitlines()[-1]
        assert told.startswith(f"keras-transformer translate: {path} {why}")


def test_what_was_asked_to_be_translated_must_be_there(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, what in (("none.txt", "no file"), ("", "a directory")):
        path = tmp_path / name
        assert main(["translate", str(run), "--input", str(path)]) == 1
        assert f"translate: {path} is {what}: name a text file.\n" in capsys.readouterr().err


def test_where_no_model_is_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "half.keras").write_bytes(b"PK\x03\x04 cut off")
    for place, why in (
        ("nowhere", f"{tmp_path}/nowhere does not exist: name a run directory or a .keras file."),
        ("empty", f"there is no model in {tmp_path}/empty: {tmp_path}/empty/model.keras does not exist."),
        ("half.keras", "half.keras"),
    ):
        assert main(["translate", str(tmp_path / place), "--input", os.devnull]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert why in err.splitlines()[-1]


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ("a flipped byte", "Bad CRC-32 for file 'config.json'"),
        ("no config.json", "There is no item named 'config.json' in the archive"),
        ("an unknown compression", "That compression method is not supported"),
    ],
)
def test_a_damaged_model_is_told_with_its_file(
    run: Path, tmp_path: Path, damage: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = tmp_path / "model.keras"
    content = bytearray((run / "model.keras").read_bytes())
    if damage == "a flipped byte":
        content[content.index(b'"num_heads"')] ^= 1
    elif damage == "no config.json":
        content[content.rindex(b"config.json")] ^= 1  # in the archive's list of its files, at its end
    else:
        content[content.rindex(b"PK\x01\x02") + 10] = 99
    damaged.write_bytes(content)
    for place in (damaged, tmp_path):
        assert main(["translate", str(place), "--input", os.devnull]) == 1
        assert capsys.readouterr().err.splitlines()[-1] == (
            f"keras-transformer translate: {damaged} is damaged ({why}): "
            "restore it from an intact copy, or train it again."
        )


@pytest.mark.parametrize("penalty", ["1000", "10.1", "-1", "nan", "inf", "long"])
def test_a_length_penalty_that_no_score_can_be_divided_by_is_wrong_usage(
    penalty: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["translate", "run", "--scores", f"--length-penalty={penalty}"])
    assert stopped.value.code == 2
    told = f"argument --length-penalty: a length penalty is a number from 0 to 10; got {penalty}\n"
    assert capsys.readouterr().err.endswith(told)


def test_the_largest_length_penalty_gives_a_score(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "long.txt"
    text.write_text("Je suis étudiant. " * 200 + "\n", "utf-8")
    assert main(["translate", str(run), "--input", str(text), "--scores", "--length-penalty", "10"]) == 0
    score = float(capsys.readouterr().out.partition("\t")[0])
    assert math.isfinite(score)
    assert score <= 0


@pytest.mark.parametrize("arguments", [[], ["run", "--inputt", "x"]])
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


def test_the_first_portions_are_small(tmp_path: Path) -> None:
    sizes: list[int] = []

    def translate(texts: list[str]) -> list[str]:
        sizes.append(sum(len(text.encode()) for text in texts))
        return texts

    texts = ["é123"] * 200_000  # 5 bytes each
    answers = Portions(translate, lambda done, texts: None)(texts)
    assert list(answers) == texts
    assert sizes[0] <= 2**14
    assert sizes[0] < sizes[1] < sizes[2] < max(sizes) <= 2**18
    assert sum(sizes) == 1_000_000


def test_the_progress_counts_what_is_translated_of_a_long_line_not_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("Merci. " * 1000 + "\n")
    with LineReader.of(path) as lines, Progress(lines, 9) as progress:
        assert lines.take(2**18)
        shown = []
        for done in (100, 500, 1000):
            progress.show_portion(done, 1000)
            shown.append(progress.bar.n)
        progress.show_chunk()
    assert shown == [700, 3500, 7001]
    assert progress.bar.n == 7001


def test_a_target_language_is_left_out_where_the_model_has_one_alone(
    run: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "text").write_text("Merci.\n")
    told = failed(capsys, "translate", run, "--input", tmp_path / "text", "--target-language", "en")
    assert told.endswith("it translates into one language alone. Leave out --target-language.")


def test_a_text_larger_than_a_portion_is_a_portion_by_itself() -> None:
    portions: list[int] = []

    def translate(texts: list[str]) -> list[str]:
        portions.append(len(texts))
        return texts

    texts = ["a" * 10, "b" * 2**20, "c" * 10, "d" * 10]
    assert list(Portions(translate, lambda done, texts: None)(texts)) == texts
    assert portions == [1, 1, 2]


def test_a_chunk_of_blank_lines_asks_the_model_nothing() -> None:
    def never(texts: list[str]) -> list[str]:
        raise AssertionError(texts)

    blank = [Parts.of(line, len, Lengths(0, 9)) for line in ("", " ")]
    assert list(translated(blank, never, lambda line, found: "")) == [("", 0), ("", 0)]
