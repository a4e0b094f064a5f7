"""`keras-transformer translate`: a line out for a line in, in this process and as a user runs it."""

import gzip
import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_transformer import TranslationModel
from keras_transformer.cli import CommandError, main
from keras_transformer.cli.lines import Lines, interrupt_held_back, write_line
from keras_transformer.cli.translate import chunks, translated
from keras_transformer.models.network import Network
from keras_transformer.text.phrasebook import phrasebook
from keras_transformer.text.sentences import Lengths, Parts
from keras_transformer.text.tokenizer import Tokenizer

TEXTS = ["Je suis étudiant.", "Merci.", "Où est la gare ?", "Non.", "Deux cafés, s'il vous plaît."]


@pytest.fixture(scope="module")
def model() -> TranslationModel:
    tokenizer = Tokenizer.train(phrasebook("fr-en", "train", 200), 400, source_lang="fr", target_lang="en")
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
def said(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """said(*options, lines=TEXTS): what the command prints for these lines."""

    def said(*options: str, lines: list[str] = TEXTS) -> str:
        path = tmp_path / "lines.txt"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        assert main(["translate", str(run), "--input", str(path), *options]) == 0
        return capsys.readouterr().out

    return said


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
    model.save(tmp_path / "model.keras")
    pairs = [["Merci. Où est la gare ?", "Thanks. Where is the station?"]] * 5 + [["Non.", "No."]] * 100
    (tmp_path / "valid.jsonl").write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs))
    lines = ["Merci. Où est la gare ?", "Où est la gare ? Où est la gare ? Où est la gare ?"]
    (tmp_path / "input.txt").write_text("".join(f"{line}\n" for line in lines))
    assert main(["translate", str(tmp_path), "--input", str(tmp_path / "input.txt")]) == 0
    together, alone = model.translate(["Merci. Où est la gare ?", "Où est la gare ?"])
    assert together != " ".join(model.translate(["Merci.", "Où est la gare ?"]))
    assert capsys.readouterr().out.splitlines() == [together, " ".join([alone] * 3)]


def test_a_sentence_longer_than_any_that_was_learned_is_translated_in_pieces_and_that_is_told(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], model: TranslationModel
) -> None:
    words = " ".join(["gare"] * 400)
    (tmp_path / "input.txt").write_text(f"{words}.\n")
    assert main(["translate", str(run), "--input", str(tmp_path / "input.txt")]) == 0
    out, err = capsys.readouterr()
    pieces = Parts.of(
        f"{words}.", lambda text: len(model.tokenizer.encode_source([text])[0]), Lengths(0, 128)
    )
    assert out == " ".join(model.translate(pieces.texts)) + "\n"
    assert len(pieces.texts) > 2
    assert err.endswith(
        "1 sentence longer than the 128 tokens that the model learned from: translated in pieces\n"
    )


def test_a_damaged_list_of_held_out_lines_is_told(
    model: TranslationModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model.save(tmp_path / "model.keras")
    (tmp_path / "valid.jsonl").write_text('["Non."')
    (tmp_path / "input.txt").write_text("Non.\n")
    assert main(["translate", str(tmp_path), "--input", str(tmp_path / "input.txt")]) == 1
    assert f"translate: {tmp_path}/valid.jsonl is damaged: " in capsys.readouterr().err


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
    assert f"\n2 lines done\nkeras-transformer translate: {path}, line 3: not UTF-8 (" in err
    assert "0xe7 in position 2" in err
    path.write_bytes(b"\xe7\n")
    assert main(["translate", str(run), "--input", str(path)]) == 1
    assert f"...\nkeras-transformer translate: {path}, line 1: not UTF-8 (" in capsys.readouterr().err


def test_what_was_asked_to_be_translated_must_be_there(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, what in (("none.txt", "no file"), ("", "a directory")):
        path = tmp_path / name
        assert main(["translate", str(run), "--input", str(path)]) == 1
        assert f"translate: {path} is {what}: name a text file.\n" in capsys.readouterr().err


def test_where_no_model_is_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "half.keras").write_bytes(b"PK\x03\x04 cut off")
    for place, why in (
        ("nowhere", f"{tmp_path}/nowhere does not exist: name a run directory or a .keras file."),
        ("", f"there is no model in {tmp_path}: {tmp_path}/model.keras does not exist."),
        ("half.keras", "half.keras"),
    ):
        assert main(["translate", str(tmp_path / place), "--input", os.devnull]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert why in err.splitlines()[-1]


@pytest.mark.parametrize("arguments", [[], ["run", "--inputt", "x"], ["run", "more"]])
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["translate", *arguments])
    assert stopped.value.code == 2
    assert "usage: keras-transformer translate" in capsys.readouterr().err


def test_the_documented_commands_run(run: Path, tmp_path: Path, model: TranslationModel) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "translating.md").read_text("utf-8")
    commands = re.findall(r"^```sh\n(.*?)^```$", guide, re.DOTALL | re.MULTILINE)[0]
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "run").symlink_to(run)
    (tmp_path / "letters.fr").write_text("Merci.\n")
    with gzip.open(tmp_path / "corpus.fr.gz", "wb") as file:
        file.write(b"Non.\n")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-ec", commands], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True,
        check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    out = done.stdout.decode() + (tmp_path / "letters.en").read_text() + (tmp_path / "corpus.en").read_text()
    assert out.splitlines() == model.translate(["Je suis étudiant.", "Merci.", "Non."])


def test_a_terminal_of_another_encoding_gets_utf8(
    model: TranslationModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saying(model, "é").save(tmp_path / "model.keras")
    (tmp_path / "input.txt").write_text("Non.\n")
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))  # as under LC_ALL=C
    assert main(["translate", str(tmp_path), "--input", str(tmp_path / "input.txt")]) == 0
    assert set(written.getvalue().decode()) == {"é", "\n"}


# Lines, as they come


@contextmanager
def piped() -> Iterator[tuple[Lines, int]]:
    reading, writing = os.pipe()
    try:
        yield Lines(reading, "pipe"), writing
    finally:
        os.close(reading)


def test_a_line_is_given_when_it_is_whole_without_waiting_for_the_next() -> None:
    with piped() as (lines, writing):
        assert lines.waiting()
        os.write(writing, b"Non.\nOu")
        assert not lines.waiting()
        assert lines.take(1000) == ["Non."]
        os.write(writing, b"i.\nMerci.\n\nSi.")
        assert lines.take(1000) == ["Oui.", "Merci.", ""]
        os.close(writing)
        assert lines.take(1000) == ["Si."]
        assert lines.take(1000) == lines.take(1000) == []
        assert not lines.waiting()


def test_lines_are_taken_up_to_a_size_and_one_that_is_longer_whole(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("ab\n" * 10 + "c" * 1000 + "\n" + "d\n" * 3)
    with Lines.of(path) as lines:
        assert lines.size == 1037
        taken = list(iter(lambda: lines.take(10), []))
        assert lines.read == 1037
    assert [text for chunk in taken for text in chunk] == ["ab"] * 10 + ["c" * 1000] + ["d"] * 3
    assert taken[0] == ["ab"] * 3
    assert max(map(len, taken)) <= 4


def test_a_line_of_many_megabytes_is_read_in_one_pass(tmp_path: Path) -> None:
    path = tmp_path / "line.txt"
    path.write_bytes(b"a" * 2**25 + b"\nb")
    with Lines.of(path) as lines:
        assert [len(line) for line in lines.take(2**14)] == [2**25]
        assert lines.take(2**14) == ["b"]


def test_a_wrong_line_is_raised_when_those_before_it_were_taken() -> None:
    with piped() as (lines, writing):
        os.write(writing, b"Non.\n\xff\nOui.\n")
        os.close(writing)
        assert lines.take(1000) == ["Non."]
        for _ in range(2):
            with pytest.raises(CommandError, match=r"^pipe, line 2: not UTF-8 \(.*0xff in position 0"):
                lines.take(1000)


def test_the_first_chunks_are_small(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("abcd\n" * 200_000)
    with Lines.of(path) as lines:
        sizes = [5 * len(chunk) for chunk in chunks(lines)]
    assert sizes[0] < 2**14 + 5
    assert sizes[0] < sizes[1] < sizes[2] < max(sizes) <= 2**18 + 5
    assert sum(sizes) == 1_000_000


def test_a_chunk_of_blank_lines_asks_the_model_nothing() -> None:
    def never(texts: list[str]) -> list[str]:
        raise AssertionError(texts)

    blank = [Parts.of(line, len, Lengths(0, 9)) for line in ("", " ")]
    assert list(translated(blank, never, lambda line, found: "")) == [("", 0), ("", 0)]


# Beams, scores, JSON


def test_a_beam_prints_its_best_answer(run: Path, model: TranslationModel, said: Callable[..., str]) -> None:
    assert said("--beam", "3").splitlines() == model.translate(TEXTS, beam=3)
    assert said("--max-tokens", "2").splitlines() == [
        found[0].text for found in model.hypotheses(TEXTS, max_tokens=2)
    ]


def test_a_score_stands_before_its_line_and_a_blank_line_has_none(
    model: TranslationModel, said: Callable[..., str]
) -> None:
    lines = said("--scores", lines=[TEXTS[0], "", TEXTS[1]]).splitlines()
    expected = model.hypotheses(TEXTS[:2])
    assert lines == [
        f"{expected[0][0].score:.4f}\t{expected[0][0].text}",
        "\t",
        f"{expected[1][0].score:.4f}\t{expected[1][0].text}",
    ]


def test_as_json_a_line_is_all_that_was_found(model: TranslationModel, said: Callable[..., str]) -> None:
    line, blank = map(json.loads, said("--json", "--beam", "2", lines=[TEXTS[0], ""]).splitlines())
    (sentence,) = line["sentences"]
    (expected,) = model.hypotheses(TEXTS[:1], beam=2)
    assert line["text"] == expected[0].text
    assert sentence["source"] == TEXTS[0]
    assert sentence["pieces"][-1] == "</s>"
    assert [answer["text"] for answer in sentence["answers"]] == [each.text for each in expected]
    for answer, each in zip(sentence["answers"], expected, strict=True):
        assert answer["pieces"] == model.tokenizer.pieces_target(each.tokens)
        np.testing.assert_allclose(answer["log_probs"], each.log_probs, rtol=0, atol=1e-5)
        assert len(answer["alignment"]) == len(answer["log_probs"])
        assert max(answer["alignment"]) < len(sentence["pieces"])
    assert blank == {"text": "", "score": None, "sentences": []}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--beam", "0"], "argument --beam: a beam keeps at least 1 answer; got 0"),
        (["--scores", "--json"], "argument --json: not allowed with argument --scores"),
    ],
)
def test_search_options_that_make_no_sense_are_wrong_usage(
    run: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["translate", str(run), *options])
    assert left.value.code == 2
    assert message in capsys.readouterr().err


# Ctrl-C


def test_an_interrupt_waits_until_what_was_begun_is_done() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), interrupt_held_back():
        os.kill(os.getpid(), signal.SIGINT)
        done.append("first")
    with pytest.raises(KeyboardInterrupt), interrupt_held_back():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        done.append("never: the second does not wait")
    assert done == ["first"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupt_held_back():
            os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("buffering", [0, 8192])
def test_a_line_that_an_interrupt_comes_into_is_written_whole(
    buffering: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    received = bytearray()
    main_thread = threading.main_thread().ident
    assert main_thread

    def read() -> None:
        received.extend(os.read(reading, 4096))  # the writer waits now, with most of its line
        signal.pthread_kill(main_thread, signal.SIGINT)
        while data := os.read(reading, 65536):
            received.extend(data)

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(writing, "wb", buffering=buffering) as out:
        stream = io.TextIOWrapper(out, write_through=not buffering)  # type: ignore[type-var]
        monkeypatch.setattr(sys, "stdout", stream)
        with pytest.raises(KeyboardInterrupt), interrupt_held_back():
            write_line("a" * 1_000_000)
        monkeypatch.undo()
        stream.detach()
    reader.join(60)
    os.close(reading)
    assert received == b"a" * 1_000_000 + b"\n"


# As a user runs it


def started(run: Path, *options: str, **files: int) -> subprocess.Popen[bytes]:
    """The command as a process, with pipes where no files are given, and Ctrl-C as in a terminal."""
    changing = {"TF_CPP_MIN_LOG_LEVEL", "PYTHONUNBUFFERED"}
    environment = {name: value for name, value in os.environ.items() if name not in changing}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        [sys.executable, "-m", "keras_transformer", "translate", str(run), *options],
        env=environment,
        bufsize=0,
        **{**pipes, **files},  # type: ignore[call-overload]
    )


def heard(file: int, until: bytes, seconds: float = 120) -> bytes:
    """What comes from there, up to a text that has to come."""
    content = b""
    while until not in content:
        assert select.select([file], [], [], seconds)[0], f"after {seconds} s there was only {content!r}"
        data = os.read(file, 1 if until == b"\n" else 4096)
        assert data, f"the end came after {content!r}"
        content += data
    return content


SAID = b"Loading Keras and TensorFlow ...\nTranslating fr to en ...\n"


def test_a_program_that_waits_for_each_answer_gets_it(run: Path, model: TranslationModel) -> None:
    with started(run) as process:
        assert process.stdin and process.stdout and process.stderr
        for text, answer in zip(TEXTS, model.translate(TEXTS), strict=True):
            process.stdin.write(f"{text}\n".encode())
            assert heard(process.stdout.fileno(), b"\n").decode() == f"{answer}\n"
        process.stdin.close()
        assert process.stdout.read() == b""
        assert re.fullmatch(re.escape(SAID) + rb"5 lines, [\d.]+ s, [\d,]+ lines/s\n", process.stderr.read())
        assert process.wait(60) == 0


def test_an_interrupt_loses_no_line_that_was_printed(
    run: Path, tmp_path: Path, model: TranslationModel
) -> None:
    texts = list(islice(cycle(TEXTS), 200_000))
    path = tmp_path / "long.txt"
    path.write_text("".join(f"{text}\n" for text in texts))
    with started(run, "--input", str(path)) as process:
        assert process.stdout and process.stderr
        first = heard(process.stdout.fileno(), b"\n")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    printed = (first + out).decode()
    assert printed.endswith("\n")
    lines = printed.splitlines()
    assert lines == list(islice(cycle(model.translate(TEXTS)), len(lines)))
    assert len(lines) < len(texts)
    done = f"{len(lines):,} line{'s' * (len(lines) > 1)} done\n"
    assert err.decode() == f"{SAID.decode()}{done}keras-transformer translate: interrupted\n"


def test_at_a_terminal_it_says_how_to_end_and_answers_each_line(run: Path, model: TranslationModel) -> None:
    terminal, stdin = pty.openpty()
    with started(run, stdin=stdin) as process:
        os.close(stdin)
        assert process.stdout and process.stderr
        heard(process.stderr.fileno(), b"Translating fr to en from the terminal; Ctrl-D ends\n")
        os.write(terminal, b"Merci.\n")
        assert heard(process.stdout.fileno(), b"\n").decode() == f"{model.translate(['Merci.'])[0]}\n"
        os.write(terminal, b"\x04")  # Ctrl-D
        assert process.wait(60) == 0
    os.close(terminal)


def test_a_terminal_shows_how_far_a_file_is(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("Non.\n" * 5000)
    terminal, stderr = pty.openpty()
    with (tmp_path / "out.txt").open("wb") as out:
        process = started(
            run, "--input", str(path), stdin=subprocess.DEVNULL, stdout=out.fileno(), stderr=stderr
        )
    os.close(stderr)
    with process:
        shown = heard(terminal, b"lines/s\r\n")
        assert process.wait(60) == 0
    os.close(terminal)
    assert (tmp_path / "out.txt").read_bytes().count(b"\n") == 5000
    assert re.search(rb"\r\x1b\[K3,[\d]{3} lines, [\d.]+ s, [\d,]+ lines/s, 66%\r", shown)
    assert re.search(rb"\r\x1b\[K5,000 lines, [\d.]+ s, [\d,]+ lines/s\r\n\Z", shown)


def test_in_a_pipe_it_ends_quietly_when_the_reader_leaves(run: Path) -> None:
    with started(run) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(b"Non.\n" * 1024)  # whose answer is read by one line, as `head -1` does
        heard(process.stdout.fileno(), b"\n")
        process.stdout.close()
        process.stdin.write(b"Non.\n")
        process.stdin.close()
        assert process.stderr.read() == SAID
        assert process.wait(60) == 0


def test_a_closed_standard_input_is_told(run: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$0" -m keras_transformer translate "$1" <&-', sys.executable, str(run)],
        capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1
    assert (
        done.stderr == b"keras-transformer translate: standard input is closed: name a file with --input.\n"
    )
