"""`keras-transformer evaluate`, on files of translations and on a tiny model that was never trained."""

import gzip
import json
import subprocess
import sys
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import pytest

from keras_transformer.cli import main
from keras_transformer.evaluation.scores import score
from keras_transformer.evaluation.significance import compare
from keras_transformer.phrasebook import phrasebook

REFERENCES = ["The cat sleeps here.", "I am a student.", "Thanks a lot.", "It is raining today."]
OURS = ["The cat sleeps here.", "I am a doctor.", "thanks a lot.", "xyz"]
THEIRS = ["A dog.", "I am a student.", "Thanks a lot.", "It is raining"]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to stand in, with reference.txt, ours.txt and theirs.txt."""
    monkeypatch.chdir(tmp_path)
    for name, lines in (("reference", REFERENCES), ("ours", OURS), ("theirs", THEIRS)):
        write(tmp_path / f"{name}.txt", lines)
    return tmp_path


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two untrained models with a tokenizer, one as a .keras file, one in a run directory; and a test set."""
    from keras_transformer import TranslationModel
    from keras_transformer.text.tokenizer import Tokenizer

    directory = tmp_path_factory.mktemp("models")
    pairs = list(islice(phrasebook("fr-en", "train", 200), 200))
    tokenizer = Tokenizer.train(pairs, source_lang="fr", target_lang="en")
    (directory / "run").mkdir()
    for name, seed in (("one.keras", 1), ("run/model.keras", 2)):
        model = TranslationModel.from_preset("tiny", tokenizer, seed=seed, encoder_layers=1, decoder_layers=1)
        model.save(directory / name)
    write(directory / "source.txt", [pair.source for pair in pairs[:8]])
    write(directory / "reference.txt", [pair.target for pair in pairs[:8]])
    return directory


def write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def evaluate(*arguments: str | Path) -> int:
    return main(["evaluate", *map(str, arguments)])


def test_prints_scores_intervals_and_signatures(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate("--translations", "ours.txt", "--reference", "reference.txt") == 0
    out, err = capsys.readouterr()
    first, *rest = out.splitlines()
    assert first == "ours.txt: 4 sentences, 1 exactly as the reference"
    for line, each in zip(rest, score(OURS, REFERENCES), strict=True):
        name, value, *bounds, signature = line.split()
        assert (name, value, signature) == (each.name, f"{each.value:.2f}", each.signature)
        assert " ".join(bounds) == f"[{each.low:.2f}, {each.high:.2f}]"
    assert err == ""


def test_json_is_one_object_with_the_same(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        "--translations",
        "ours.txt",
        "--reference",
        "reference.txt",
        "--compare",
        "theirs.txt",
        "--json",
    ]
    assert evaluate(*options, "--lowercase", "--tokenize", "none", "--worst", "worst.html") == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == {
        "system": "ours.txt",
        "sentences": 4,
        "exact": 2,
        "looped": None,
        "scores": [asdict(each) for each in score(OURS, REFERENCES, lowercase=True, tokenize="none")],
        "other": "theirs.txt",
        "other_looped": None,
        "comparison": [
            asdict(each) for each in compare(OURS, THEIRS, REFERENCES, lowercase=True, tokenize="none")
        ],
    }
    assert err == "worst sentences: worst.html\n"


def test_a_comparison_says_which_is_better(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(files / "perfect.txt", REFERENCES * 20)
    write(files / "nothing.txt", ["%"] * 80)
    write(files / "same.txt", REFERENCES * 20)
    write(files / "long.txt", REFERENCES * 20)

    def verdicts(one: str, other: str) -> list[str]:
        assert evaluate("--translations", one, "--reference", "long.txt", "--compare", other) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[4] == f"against {other}, by paired bootstrap:"
        return [line.partition("p = ")[2] for line in lines[5:]]

    assert verdicts("perfect.txt", "nothing.txt") == ["0.001  better"] * 3
    assert verdicts("nothing.txt", "perfect.txt") == ["0.001  worse"] * 3
    assert verdicts("perfect.txt", "same.txt") == ["1.000  may be chance"] * 3


def test_the_worst_sentences_become_a_page(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = files / "new" / "worst.html"
    options = ["--translations", "ours.txt", "--reference", "reference.txt", "--source", "theirs.txt"]
    assert evaluate(*options, "--compare", "theirs.txt", "--worst", page) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"worst sentences: {page}"
    html = page.read_text("utf-8")
    assert html.count("<li ") == 3
    assert "<dt>Source</dt>" in html
    assert "<dt>theirs.txt</dt>" in html
    assert score(OURS, REFERENCES)[0].signature in html


def test_a_model_translates_what_is_scored(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from keras_transformer import TranslationModel

    source, reference = models / "source.txt", models / "reference.txt"
    one, run, page = models / "one.keras", models / "run", models / "worst.html"
    options = ["--source", source, "--reference", reference, "--json"]
    assert evaluate(one, *options, "--compare", run, "--worst", page) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    texts, references = (path.read_text("utf-8").splitlines() for path in (source, reference))
    ours, theirs = (TranslationModel.load(path).translate(texts) for path in (one, run))
    assert found["scores"] == [asdict(each) for each in score(ours, references)]
    assert found["comparison"] == [asdict(each) for each in compare(ours, theirs, references)]
    assert (found["system"], found["other"], found["sentences"]) == (str(one), str(run), 8)
    assert err.count("translating 8 sentences\n") == 2
    assert page.is_file()


def test_a_model_may_be_compared_with_a_file(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(models / "perfect.txt", (models / "reference.txt").read_text("utf-8").splitlines())
    options = ["--source", models / "source.txt", "--reference", models / "reference.txt", "--json"]
    assert evaluate(models / "run", *options, "--compare", models / "perfect.txt") == 0
    assert [each["other"] for each in json.loads(capsys.readouterr().out)["comparison"]] == [100, 100, 0]
    assert evaluate("--translations", models / "perfect.txt", *options, "--compare", models / "run") == 0
    assert [each["ours"] for each in json.loads(capsys.readouterr().out)["comparison"]] == [100, 100, 0]


def test_a_model_without_a_tokenizer_is_told(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from keras_transformer import TranslationModel
    from keras_transformer.models.network import Network

    model = TranslationModel(Network.from_preset("tiny", encoder_layers=1, decoder_layers=1), 32)
    model.build()
    model.save(models / "ids.keras")
    options = ["--source", models / "source.txt", "--reference", models / "reference.txt"]
    assert evaluate(models / "ids.keras", *options) == 1
    assert "keras-transformer evaluate: this model has no tokenizer" in capsys.readouterr().err


def test_gzipped_files_and_standard_input(files: Path) -> None:
    (files / "reference.txt.gz").write_bytes(gzip.compress((files / "reference.txt").read_bytes()))
    command = [sys.executable, "-m", "keras_transformer", "evaluate", "--translations", "-"]
    done = subprocess.run(
        [*command, "--reference", "reference.txt.gz", "--json"],
        input=(files / "ours.txt").read_bytes(),
        check=True,
        capture_output=True,
        timeout=120,
    )
    assert json.loads(done.stdout)["scores"] == [asdict(each) for each in score(OURS, REFERENCES)]
    assert done.stderr == b""


def test_files_are_scored_without_a_framework(files: Path) -> None:
    code = (
        "import sys; from keras_transformer.cli import main\n"
        "assert main(['evaluate', '--translations', 'ours.txt', '--reference', 'reference.txt']) == 0\n"
        "assert not {'keras', 'tensorflow', 'matplotlib'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_counts_that_differ_are_told_with_files_and_lines(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(files / "short.txt", OURS[:3])
    assert evaluate("--translations", "short.txt", "--reference", "reference.txt") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(
        "keras-transformer evaluate: short.txt has 3 lines and reference.txt has 4: short.txt ends first, "
        "after line 3."
    )
    options = ["--translations", "ours.txt", "--reference", "reference.txt"]
    assert evaluate(*options, "--compare", "short.txt") == 1
    assert "short.txt has 3 lines and reference.txt has 4" in capsys.readouterr().err
    assert evaluate(*options, "--source", "short.txt") == 1
    assert "short.txt has 3 lines and reference.txt has 4" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "bad.txt is empty: it has 0 lines"),
        (b"one\ntwo\nthr\xe9e\nfour\n", "bad.txt, line 3: 0xE9 at byte 4 of the line"),
        (b"\xff\xfeo\x00n\x00e\x00\n\x00", "bad.txt is UTF-16, not UTF-8"),
    ],
    ids=["empty", "bytes", "utf-16"],
)
def test_a_bad_file_is_told_before_a_model_is_loaded(
    content: bytes, message: str, models: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (files / "bad.txt").write_bytes(content)
    assert evaluate(models / "one.keras", "--source", "bad.txt", "--reference", "reference.txt") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"keras-transformer evaluate: {message}")
    assert "ranslating" not in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--translations", "no.txt"], "no.txt does not exist"),
        (["--translations", "ours.txt", "--compare", "no.txt"], "no.txt does not exist"),
        (
            ["no.keras", "--source", "ours.txt"],
            "no.keras does not exist: name a run directory or a .keras file",
        ),
        (["empty", "--source", "ours.txt"], "there is no model in empty"),
        (["--translations", "empty"], "empty is a directory"),
        (["--translations", "ours.txt", "--worst", "empty"], "empty is a directory: --worst names the file"),
        (["--translations", "ours.txt", "--worst", "ours.txt/worst.html"], "ours.txt"),
        (
            ["--translations", "ours.txt", "--worst", "ours.txt"],
            "ours.txt is an input file, which --worst would overwrite",
        ),
        (
            ["--translations", "ours.txt", "--worst", "./reference.txt"],
            "reference.txt is an input file, which --worst would",
        ),
    ],
)
def test_what_can_be_mended_is_told_with_exit_status_1(
    arguments: list[str], message: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (files / "empty").mkdir()
    assert evaluate(*arguments, "--reference", "reference.txt") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--reference", "r"], "one of the arguments MODEL --translations is required"),
        (["model", "--translations", "t", "--reference", "r"], "not allowed with argument"),
        (["model", "--source", "s"], "required: --reference"),
        (["model.keras", "--reference", "r"], "--source is needed: it is what model.keras translates"),
        (
            ["--translations", "t", "--reference", "r", "--compare", "o.keras"],
            "--source is needed: it is what o",
        ),
        (
            ["--translations", "t", "--reference", "r", "--beam", "5"],
            "--no-loop-guard and --target-language",
        ),
        (
            ["--translations", "t", "--reference", "r", "--compare", "o", "--length-penalty", "0.6"],
            "a MODEL, and none is named: leave them out",
        ),
        (["--translations", "-", "--reference", "-"], "standard input (-) can be read as one file only"),
        (
            ["--translations", "t", "--source", "s", "--reference", "-"],
            "--reference cannot be standard input here",
        ),
        (["--translations", __file__, "--reference", __file__], f"{__file__} is given both as the reference"),
        (["model", "--source", "s", "--reference", "r", "--tokenize", "tlh"], "invalid choice: 'tlh'"),
    ],
)
def test_wrong_usage_is_told_with_exit_status_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        evaluate(*arguments)
    assert stopped.value.code == 2
    err = capsys.readouterr().err
    assert "usage: keras-transformer evaluate" in err
    assert message in err
