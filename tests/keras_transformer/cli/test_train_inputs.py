"""`keras-transformer train`: what it says to a corpus, or to a command line, that is wrong."""

import json
import os
import sys
from pathlib import Path

import pytest

from keras_transformer.cli import main
from keras_transformer.training.data.corpus_options import Corpus
from keras_transformer.training.recipe import Recipe
from keras_transformer.training.runs.run_directory import Run
from keras_transformer.training.runs.run_summary import facts
from tests.support.commands import failed

LANGUAGES = ["--source-lang", "fr", "--target-lang", "en"]


# A corpus that is wrong


def corpus_files(tmp_path: Path, source: bytes | None, target: bytes | None) -> list[object]:
    paths = [tmp_path / "s.txt", tmp_path / "t.txt"]
    for path, content in zip(paths, (source, target), strict=True):
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
    return ["--source", paths[0], "--target", paths[1], *LANGUAGES]


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        (None, b"a\n", "{s} does not exist (looked in {d})"),
        (b"", b"a\n", "{s} is empty: it has 0 lines"),
        (b"a\n", b"", "{t} is empty: it has 0 lines"),
        (b"a\nb\nc\n", b"a\nb\n",
         "{s} has 3 lines and {t} has 2: {t} ends first, after line 2. "
         "Line n of one must be the translation of line n of the other"),
        (b"a\n\xe9\n", b"a\nb\n",
         "{s}, line 2: 0xE9 at byte 1 of the line (3 of the file) is not UTF-8 (invalid continuation byte): "
         "convert the file, for example with iconv -f WINDOWS-1252 -t UTF-8 {s}"),
        (b"\n\n", b"\n\n", "cleaning left nothing of 2 pairs: empty (2)."),
    ],
)  # fmt: skip
def test_a_wrong_corpus_is_told_and_the_same_command_works_once_it_is_mended(
    tmp_path: Path, source: bytes | None, target: bytes | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    arguments = [*corpus_files(tmp_path, source, target), "--run", run, "--vocabulary-size", "8000"]
    expected = said.format(s=tmp_path / "s.txt", t=tmp_path / "t.txt", d=tmp_path)
    capsys.readouterr()
    assert main(["train", *map(str, arguments)]) == 1
    assert f"keras-transformer train: {expected}" in capsys.readouterr().err
    lines = "".join(f"Sentence {number} of many.\n" for number in range(300)).encode()
    corpus_files(tmp_path, lines, lines.replace(b"Sentence", b"Satz"))
    # It gets as far as the vocabulary, which is too large by design: nothing need be trained to see that.
    assert failed(capsys, "train", *arguments).startswith("vocabulary_size=8000 is more than this corpus")


def test_the_same_file_twice_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "both.txt"
    path.write_text("a\n")
    said = failed(capsys, "train", "--source", path, "--target", path, *LANGUAGES, "--run", tmp_path / "run")
    assert said == f"{path} is given as source and as target: its translation must be another file"


def test_a_vocabulary_that_the_corpus_cannot_fill_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "".join(f"Sentence {number} of many.\n" for number in range(300)).encode()
    arguments = corpus_files(tmp_path, lines, lines.replace(b"Sentence", b"Satz"))
    said = failed(capsys, "train", *arguments, "--run", tmp_path / "run", "--vocabulary-size", 8000)
    assert said.startswith("vocabulary_size=8000 is more than this corpus supports, which is ")


# A command line that is wrong


def test_all_problems_are_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    said = failed(
        capsys, "train", "--run", run, "--source", "a.fr", "--pairs", "b.tsv", "--valid-target", "v.en",
        "--steps", 0, "--preset", "huge", "--warmup-steps", 3, status=2,
    )  # fmt: skip
    assert said.split("; ") == [
        "error: name one corpus: --source and --target, --pairs, or --phrasebook",
        "got --source and --pairs",
        "--source and --target go together",
        "--valid-source and --valid-target go together",
        "--source-lang and --target-lang are needed: the model records its languages",
        "preset must be one of tiny, small, base, student",
        "got 'huge'",
        "steps must be a whole number of at least 1 and at most 10,000,000",
        "got 0",
        "warmup_steps must be at most steps",
        "got 3 and 0",
    ]
    assert not run.exists()


def test_no_corpus_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = failed(capsys, "train", "--run", tmp_path / "run", *LANGUAGES, status=2)
    assert said == "error: name one corpus: --source and --target, --pairs, or --phrasebook"


@pytest.mark.parametrize("direction", ["fr-xx", "fr", ""])
def test_a_phrasebook_that_there_is_not_is_told(
    direction: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = failed(capsys, "train", "--run", tmp_path / "run", "--phrasebook", direction, status=2)
    expected = f"--phrasebook is fr-en or en-fr; got {direction!r}"
    assert said.removeprefix("error: ") == (
        expected
        if direction
        else "name one corpus: --source and --target, --pairs, or --phrasebook; "
        "--source-lang and --target-lang are needed: the model records its languages"
    )


@pytest.mark.parametrize("name", ["a.jsonl", "a.tmx", "a.jsonl.gz"])
def test_one_language_for_both_sides_is_told_where_languages_tell_the_sides_apart(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    languages = ["--source-lang", "fr", "--target-lang", "fr"]
    said = failed(capsys, "train", "--run", tmp_path / "run", "--pairs", name, *languages, status=2)
    assert said == (
        "error: --source-lang and --target-lang are both fr, but JSONL and TMX distinguish the "
        "sides by language; for one language give two parallel files, or TSV"
    )


def test_text_rewritten_in_its_own_language_is_not_learned_both_ways() -> None:
    simpler = Corpus(source_lang="en", target_lang="en", pairs=["simpler.tsv"])
    assert Recipe.for_corpus(1000, simpler.recipe_defaults()).both_ways == 0
    german = Corpus(source_lang="en", target_lang="de", pairs=["german.tsv"])
    assert Recipe.for_corpus(1000, german.recipe_defaults()).both_ways > 0


def test_what_the_phrasebook_has_with_it_is_refused_with_its_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    valid = ["--valid-source", "v.fr", "--valid-target", "v.en"]
    for options in (LANGUAGES, valid, [*LANGUAGES, *valid]):
        said = failed(capsys, "train", "--run", run, "--phrasebook", "fr-en", *options, status=2)
        assert said == (
            "error: --phrasebook has its own languages and held-out pairs: "
            f"leave out {', '.join(options[::2])}"
        )
    assert not run.exists()


def test_a_phrasebook_run_that_was_begun_is_the_same_corpus_again() -> None:
    corpus = Corpus(phrasebook="fr-en", max_words=9)
    assert Corpus.from_run(json.loads(json.dumps(corpus.as_run()))) == corpus


# A corpus that is wanted again


def begun(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """A run whose preparation ends with its vocabulary, which is too small by design; -> what it said."""
    return failed(capsys, "train", *arguments, *LANGUAGES, "--vocabulary-size", 8000)


def test_a_run_is_resumed_from_any_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "".join(f"Sentence {number} of many.\n" for number in range(300)).encode()
    corpus_files(tmp_path, lines, lines.replace(b"Sentence", b"Satz"))
    monkeypatch.chdir(tmp_path)
    said = begun(capsys, "--source", "s.txt", "--target", "t.txt", "--run", "run")
    assert said.startswith("vocabulary_size=8000 is more than this corpus")
    monkeypatch.chdir("/")
    assert failed(capsys, "train", "--run", tmp_path / "run", "--resume") == said


def test_a_corpus_from_standard_input_is_piped_in_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run, pairs, empty = tmp_path / "run", tmp_path / "pairs.tsv", tmp_path / "empty.tsv"
    pairs.write_text("".join(f"Sentence {number} of many.\tSatz {number}.\n" for number in range(300)))
    empty.touch()
    remedy = (
        f". The corpus of {run} comes from standard input, and was not read to its end: "
        "pipe all of it into `train --resume` again, or begin a new run."
    )
    with pairs.open() as stdin, empty.open() as nothing:
        monkeypatch.setattr(sys, "stdin", stdin)
        said = begun(capsys, "--pairs", "-", "--run", run)
        assert said.startswith("vocabulary_size=8000 is more than this corpus")
        monkeypatch.setattr(sys, "stdin", nothing)
        resumed = ("train", "--run", run, "--resume")
        assert failed(capsys, *resumed) == f"standard input is empty: it has 0 lines{remedy}"
        monkeypatch.setattr(sys, "stdin", stdin)
        stdin.seek(0)
        assert failed(capsys, *resumed) == said + remedy
    terminal, stdin = os.openpty()
    with os.fdopen(stdin) as nobody_types:
        monkeypatch.setattr(sys, "stdin", nobody_types)
        assert failed(capsys, *resumed) == remedy.removeprefix(". ")
    os.close(terminal)


def test_the_directories_of_a_corpus_are_not_told_with_the_model(tmp_path: Path) -> None:
    corpus = Corpus("fr", "en", source=["a.fr"], target=["a.en"])
    run = Run(tmp_path / "run")
    with run.begin({**corpus.as_run(), "recipe": {}}):
        assert facts(run.path)["domain"] == "a.fr, a.en"


def test_a_run_that_names_no_corpus_is_told_as_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    about = {**Corpus(phrasebook="fr-en").as_run(), "recipe": {}}
    with Run(tmp_path).begin({**about, "corpus": {**about["corpus"], "phrasebook": None}}):
        pass
    said = failed(capsys, "train", "--run", tmp_path, "--resume")
    assert said.startswith(f"{tmp_path}/run.json is damaged (name one corpus: --source and --target, ")
    assert said.endswith("): restore it from an intact copy, or begin a new run.")


def test_the_papers_4000_steps_of_warm_up_are_no_problem_before_the_corpus_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--source", "none.fr", "--target", "none.en", *LANGUAGES]
    said = failed(capsys, "train", *arguments, "--run", tmp_path / "run", "--warmup-steps", 4000)
    assert said.startswith(f"{Path.cwd()}/none.fr does not exist")


@pytest.mark.parametrize(
    "arguments",
    [[], ["--run"], ["--run", "r", "--steps", "x"], ["--run", "r", "--setps", "3"], ["--run", "r", "x"]],
)
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["train", *arguments])
    assert stopped.value.code == 2
    assert "usage: keras-transformer train" in capsys.readouterr().err


def test_help_names_every_option_of_the_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["train", "--help"])
    assert stopped.value.code == 0
    out = capsys.readouterr().out
    assert "keras-transformer train --phrasebook fr-en --run build/run" in out
    for option in (
        "--preset",
        "--gradient-accumulation-steps",
        "--warmup-steps",
        "--precision",
        "--seed",
        "--separate",
        "--resume",
    ):
        assert option in out
