"""`keras-transformer distill`: a student learns from what its teachers translate."""

import json
import os
import re
import shlex
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from keras_transformer import TranslationModel
from keras_transformer.cli import CommandError, VerbParser, distill, main
from keras_transformer.text.corpus import Pair, read_pairs, read_text
from keras_transformer.training.distillation.folder import Folder
from keras_transformer.training.runs.run_directory import Run
from keras_transformer.training.runs.run_summary import facts
from tests.support.commands import failed
from tests.support.paths import ROOT
from tests.support.small_training import small_tiny
from tests.support.teacher import PAIRS, write_teachers

CORPUS, MORE = 70, 60  # pairs of the corpus; where the monolingual text begins
RECIPE = ["--preset", "tiny", "--steps", "2", "--vocabulary-size", "300", "--precision", "float32"]


def write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def write_with_tokenizer(path: Path, model: Path, **tokenizer: object) -> None:
    """Write what is read of a model without Keras, with another tokenizer."""
    with zipfile.ZipFile(model) as read, zipfile.ZipFile(path, "w") as written:
        config = json.loads(read.read("config.json"))
        config["config"]["tokenizer"] |= tokenizer
        written.writestr("config.json", json.dumps(config))
        written.writestr("metadata.json", read.read("metadata.json"))


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models one, two and en-fr, the corpus train.fr and train.en, and more.fr and more.en, no pairs."""
    directory = tmp_path_factory.mktemp("distill")
    write_teachers(directory / "one.keras", directory / "en-fr.keras")
    shutil.copy(directory / "one.keras", directory / "two.keras")  # the ensemble says what one of them says
    for side, language in enumerate(("fr", "en")):
        write(directory / f"train.{language}", [pair[side] for pair in PAIRS[:CORPUS]])
        write(directory / f"more.{language}", [pair[side] for pair in PAIRS[MORE - side :]])
    write(directory / "blank", [" "])
    write(directory / "short.en", ["two cats"])
    write_with_tokenizer(directory / "damaged.keras", directory / "one.keras", models=["AAAA"])
    for name, code in (("en-roa", "fr"), ("en-gem", "nl")):
        pieces = ["<pad>", "<unk>", "<s>", "</s>", f">>{code}<<", ">>de<<"]
        languages = {"source_lang": "en", "target_lang": "", "vocabularies": [pieces]}
        write_with_tokenizer(directory / f"{name}.keras", directory / "en-fr.keras", **languages)
    return directory


@pytest.fixture(scope="module")
def words(directory: Path) -> list[str]:
    """The second command of docs/how-to/distill.md, on these files and with a small recipe."""
    page = (ROOT / "docs" / "how-to" / "distill.md").read_text("utf-8")
    _, block = re.findall(r"^```sh\nkeras-transformer (distill .*?)^```$", page, re.DOTALL | re.MULTILINE)
    words = shlex.split(block.replace("\\\n", " "))
    run = words.index("--run")
    del words[run : run + 2]
    files = {word: directory / f"{Path(word).name}.keras" for word in words if word.startswith("build/")}
    files |= {word: directory / word for word in words if (directory / word).is_file()}
    return [*(str(files.get(word, word)) for word in words), "--beam", "2", "--workers", "1", *RECIPE]


@pytest.fixture(scope="module")
def student(directory: Path, words: list[str]) -> Path:
    with small_tiny():
        assert main([*words, "--run", str(directory / "student")]) == 0
    return directory / "student"


def pairs_of(student: Path, part: str) -> list[Pair]:
    return list(read_pairs([student / "distilled" / f"{part}.tsv"], "fr", "en"))


def test_the_student_learns_from_the_corpus_and_from_what_the_teacher_translates(
    student: Path, directory: Path
) -> None:
    teacher = TranslationModel.load(directory / "one.keras")
    held_out = [*read_text([student / "distilled" / "valid.source"])]
    assert pairs_of(student, "original") == [pair for pair in PAIRS[:CORPUS] if pair.source not in held_out]
    report = json.loads((student / "distilled" / "report.json").read_text("utf-8"))
    for part, texts in (
        ("teacher", [pair.source for pair in PAIRS[:CORPUS] if pair.source not in held_out]),
        ("monolingual", [pair.source for pair in PAIRS[CORPUS:] if pair.source not in held_out]),
    ):
        answers = teacher.hypotheses(texts, beam=2, alignment=False)
        scores = sorted(found[0].score for found in answers)
        lowest = scores[int(0.05 * len(scores))]
        expected = [
            Pair(text, found[0].text)
            for text, found in zip(texts, answers, strict=True)
            if found[0].score >= lowest - 5e-5 and found[0].finish_reason != "loop"
        ]
        assert pairs_of(student, part) == expected
        assert report["parts"][part]["translated"] == len(texts)
        assert report["parts"][part]["kept"] == len(expected)
        assert report["parts"][part]["lowest_score"] == pytest.approx(lowest, abs=1e-4)
    assert (student / "model.keras").is_file()


def test_a_backward_model_makes_sources_for_text_of_the_target_language(
    student: Path, directory: Path
) -> None:
    backward = TranslationModel.load(directory / "en-fr.keras")
    pairs = pairs_of(student, "back")
    assert {pair.target for pair in pairs} <= {pair.target for pair in PAIRS[MORE - 1 :]}
    assert [pair.source for pair in pairs] == backward.translate([pair.target for pair in pairs], beam=2)


def test_the_report_says_where_everything_comes_from(student: Path, directory: Path) -> None:
    text = (student / "distilled" / "report.txt").read_text("utf-8")
    teachers = f"{directory / 'one.keras'} + {directory / 'two.keras'}"
    for said in (teachers, str(directory / "en-fr.keras"), "beam 2", "low score"):
        assert said in text
    about = json.loads((student / "run.json").read_text("utf-8"))
    weights = [name.rpartition("=")[2] for name in about["corpus"]["pairs"]]
    assert weights == ["1", "2", "1", "0.5"]
    assert about["recipe"]["preset"] == "tiny"
    domain = "train.fr, train.en, more.fr, more.en, distilled from one.keras + two.keras"
    assert facts(student)["domain"] == domain


def times(path: Path) -> dict[str, int]:
    return {
        str(file.relative_to(path)): file.stat().st_mtime_ns
        for file in sorted(path.rglob("*"))
        if file.is_file() and file.parent.name != ".bulk"
    }


def test_the_same_command_again_does_nothing_twice(
    student: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = times(student / "distilled")
    with small_tiny():
        assert main([*words, "--run", str(student)]) == 0
    shown = capsys.readouterr()
    assert "stage 5 of 5: training the student" in shown.err
    assert "translating" not in shown.err
    assert "step 2" in shown.out
    assert times(student / "distilled") == before


@pytest.fixture
def killed(student: Path, tmp_path: Path) -> Callable[..., Path]:
    """killed(names): a run whose command was killed before it had written these files."""

    def killed(*names: str) -> Path:
        run = tmp_path / "student"
        run.mkdir()
        shutil.copytree(student / "distilled", run / "distilled")
        for name in names:
            (run / "distilled" / name).unlink()
        return run

    return killed


def test_what_was_killed_in_the_middle_goes_on_there_to_the_same_end(
    student: Path, words: list[str], killed: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = [f"{part}.tsv" for part in ("teacher", "monolingual", "back")]
    run = killed("translations/monolingual.txt", "report.txt", "report.json", *pairs)
    before = times(run / "distilled")
    with small_tiny():
        assert main([*words, "--run", str(run)]) == 0
    err = capsys.readouterr().err
    assert err.count("wrote ") == 1
    assert f"wrote {run}/distilled/translations/monolingual.txt" in err
    assert "back-translations is complete" in err
    after = times(run / "distilled")
    assert {name: after[name] for name in before} == before
    for name in ("translations/monolingual.txt", "report.txt", *pairs):
        assert (run / "distilled" / name).read_bytes() == (student / "distilled" / name).read_bytes()


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        (["--beam", "3"], "another beam"),
        (["--drop-worst", "0.2"], "another share of dropped translations"),
        (["--max-words", "20"], "another corpus"),
        (["--monolingual-source", "train.fr"], "another text"),
        (["--mix", "teacher=3"], "another corpus"),
        (["--seed", "3"], "another recipe"),
    ],
)
def test_other_options_are_refused_where_a_student_was_begun(
    student: Path,
    directory: Path,
    words: list[str],
    changed: list[str],
    named: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(directory)
    with small_tiny():
        message = failed(capsys, *words, "--run", student, *changed)
    assert named in message
    assert "name another run" in message


def test_another_tokenizer_is_refused_once_the_training_has_begun(student: Path) -> None:
    about = {**Run(student).about(), "tokenizer": "other"}
    with pytest.raises(CommandError, match=r"trained with another tokenizer"):
        distill._resumed(Run(student), about)


PARALLEL = ["--source", "train.fr", "--target", "train.en"]
BACKWARD = ["--monolingual-target", "blank", "--backward", "en-fr.keras"]


def test_a_command_that_failed_can_be_corrected(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(directory)
    begun = ["distill", "one.keras", "--run", tmp_path / "run"]
    assert "short.en" in failed(capsys, *begun, "--source", "train.fr", "--target", "short.en")
    assert "nothing of 1 pairs" in failed(capsys, *begun, *PARALLEL, *BACKWARD, "--beam", "3")


def test_monolingual_text_may_come_from_a_pipe(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(directory)
    reading, writing = os.pipe()
    os.write(writing, b"vingt chats\ntrente chats\n")
    os.close(writing)
    pipe = ["--monolingual-source", f"/dev/fd/{reading}"]
    failed(capsys, "distill", "one.keras", *PARALLEL, *pipe, *BACKWARD, "--run", tmp_path / "run")
    os.close(reading)
    texts = Folder(tmp_path / "run").texts("monolingual")
    assert list(read_text([texts])) == ["vingt chats", "trente chats"]


def test_a_backward_model_of_several_languages_translates_into_the_source_language(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(directory)
    words = [*PARALLEL, "--monolingual-target", "more.en", "--backward", "en-roa.keras", "--run", "new"]
    stages = distill._Distillation(
        VerbParser("distill").parse_args(["one.keras", *words]), Folder(Path("new"))
    )
    assert stages.backward is not None
    assert (stages.teacher.target_language, stages.backward.target_language) == (None, "fr")


def test_a_student_of_one_machine_is_not_trained_by_several(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(directory)
    cluster = {"worker": ["localhost:2222", "localhost:2223"]}
    config = {"cluster": cluster, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    assert "unset TF_CONFIG" in failed(capsys, "distill", "one.keras", *PARALLEL, "--run", "new")
    assert not Path("new").exists()


def test_a_teacher_is_named_so_that_one_knows_which_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = tmp_path / "fr-en" / "1"
    version.mkdir(parents=True)
    (version / "manifest.json").touch()
    models = version, tmp_path / "one" / "model.keras", tmp_path / "b.keras"
    assert [*map(distill._name, models)] == ["fr-en/1", "one", "b.keras"]
    monkeypatch.chdir(version)
    assert distill._name(Path()) == "fr-en/1"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["one.keras"], "name one corpus"),
        (["one.keras", *PARALLEL, "--monolingual-target", "more.en"], "--backward"),
        (["one.keras", *PARALLEL, "--backward", "en-fr.keras"], "--monolingual-target"),
        (["one.keras", *PARALLEL, "--monolingual-source", "-"], "standard input"),
        (["one.keras", "--pairs", "a.tsv=2"], "--mix"),
        (["one.keras", *PARALLEL, "--mix", "teacher"], "PART=W"),
        (["one.keras", *PARALLEL, "--mix", "pupil=2"], "original, teacher, monolingual, back"),
        (["one.keras", *PARALLEL, "--mix", "teacher=-1"], "at least 0"),
        (["one.keras", *PARALLEL, "--mix", "back=2"], "no text for back"),
        (["one.keras", *PARALLEL, "--mix", "original=0", "teacher=0"], "above 0"),
        (["one.keras", *PARALLEL, "--drop-worst", "1"], "below 1"),
        (["one.keras", *PARALLEL, "--beam", "0"], "at least 1 answer"),
        (["one.keras", *PARALLEL, "--preset", "huge"], "huge"),
        (["one.keras", *PARALLEL, "--max-ratio", "0.5"], "max_ratio must be at least 1; got 0.5"),
        (["one.keras", *PARALLEL, "--steps", "0"], "steps"),
        (["one.keras", "--phrasebook", "fr-en", "--warmup-steps", "700"], "got 700 and 600"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    named: str,
) -> None:
    monkeypatch.chdir(directory)
    assert named in failed(capsys, "distill", *options, "--run", "new", status=2)
    assert not Path("new").exists()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["nowhere", *PARALLEL], "nowhere does not exist"),
        (["train.fr", *PARALLEL], "train.fr is not a .keras file"),
        (["en-fr.keras", *PARALLEL, "--source-lang", "fr"], "en-fr.keras translates en to fr"),
        (["en-fr.keras", "--phrasebook", "fr-en"], "en-fr.keras translates en to fr"),
        (["one.keras", "en-fr.keras", *PARALLEL], "fr to en and en-fr.keras en to fr"),
        (
            ["one.keras", *PARALLEL, "--monolingual-target", "more.en", "--backward", "one.keras"],
            "one.keras translates fr to en, and here en to fr",
        ),
        (["damaged.keras", *PARALLEL], "damaged.keras is damaged"),
        (["en-roa.keras", *PARALLEL, "--target-lang", "it"], "en-roa.keras translates en to fr, de"),
        (
            ["one.keras", *PARALLEL, "--monolingual-target", "more.en", "--backward", "en-gem.keras"],
            "en-gem.keras translates en to nl, de, and here en to fr",
        ),
        (["one.keras", *PARALLEL, "--monolingual-source", "no.fr"], "no.fr does not exist"),
        (["one.keras", *PARALLEL, "--monolingual-source", "empty"], "empty is empty"),
        (["one.keras", "--source", "no.fr", "--target", "train.en"], "no.fr does not exist"),
    ],
)
def test_teachers_and_text_that_do_not_fit_are_refused_before_anything_is_written(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    named: str,
) -> None:
    monkeypatch.chdir(directory)
    Path("empty").touch()
    assert named in failed(capsys, "distill", *options, "--run", "new")
    assert not Path("new").exists()


def test_a_run_that_was_not_distilled_is_never_overwritten(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(directory)
    (tmp_path / "recipe.json").write_text("{}")
    assert "holds a run already" in failed(capsys, "distill", "one.keras", *PARALLEL, "--run", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["recipe.json"]
