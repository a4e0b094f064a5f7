"""`import`: a MarianMT directory becomes a run, whole or not at all."""

import json
import re
import shutil
from pathlib import Path

import pytest

from keras_transformer import TranslationModel
from keras_transformer.cli import main
from tests.support import marian_npz
from tests.support.marian_kinds import sentences

UNGUARDED = "--no-loop-guard"  # random weights repeat themselves
GOLDEN = Path(__file__).parents[1] / "pretrained" / "golden"


def expected(name: str) -> dict[str, str]:
    """Texts and the translations that transformers gives them."""
    answers = json.loads((GOLDEN / name / "expected.json").read_bytes())
    return {text: answer["translation"] for text, answer in answers.items()}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("imported") / "run"
    assert main(["import", str(GOLDEN / "swish"), "--run", str(path), "--source-lang", "de"]) == 0
    return path


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("several") / "run"
    assert main(["import", str(GOLDEN / "languages"), "--run", str(path)]) == 0
    return path


def test_the_run_translates_as_transformers_does(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = expected("swish")
    (tmp_path / "texts").write_text("\n".join(texts) + "\n", encoding="utf-8")
    capsys.readouterr()
    assert main(["translate", str(run), "--input", str(tmp_path / "texts"), UNGUARDED]) == 0
    assert capsys.readouterr().out.splitlines() == [*texts.values()]


def test_a_directory_of_marian_itself_becomes_a_run_that_translates_as_from_pretrained_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    marian_npz.make(tmp_path / "marian", seed=2)
    (text,) = sentences(1, 11)
    expected = TranslationModel.from_pretrained(tmp_path / "marian").hypotheses([text], alignment=False)
    (tmp_path / "texts").write_text(f"{text}\n", encoding="utf-8")
    assert main(["import", str(tmp_path / "marian"), "--run", str(tmp_path / "run")]) == 0
    first, *_ = capsys.readouterr().out.splitlines()
    assert re.fullmatch(
        rf"imported: {tmp_path / 'run'}, [\d,]+ parameters, \d+\.\d MB, "
        r"in \d+\.\d s and (\d\.\d GB|\d+ MB) of memory",
        first,
    )
    assert main(["translate", str(tmp_path / "run"), "--input", str(tmp_path / "texts")]) == 0
    assert capsys.readouterr().out == f"{expected[0][0].text}\n"


def test_info_tells_that_it_was_imported_and_its_languages(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["info", str(run)]) == 0
    shown = capsys.readouterr().out
    assert "a run, imported" in shown
    assert "de to en" in shown
    assert "imported from swish" in shown


def test_info_lists_the_target_languages(several: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(several)]) == 0
    assert "fra, deu, eng" in capsys.readouterr().out


def test_a_run_is_never_overwritten(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    assert main(["import", str(GOLDEN / "relu"), "--run", str(run)]) == 1
    assert "is never overwritten" in capsys.readouterr().err
    assert main(["train", "--phrasebook", "fr-en", "--run", str(run)]) == 1
    assert "holds an imported model" in capsys.readouterr().err
    assert main(["train", "--run", str(run), "--resume"]) == 1
    assert "holds an imported model" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before


def test_a_refused_directory_leaves_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(GOLDEN / "swish", tmp_path / "model")
    (tmp_path / "model" / "vocab.json").unlink()
    assert main(["import", str(tmp_path / "model"), "--run", str(tmp_path / "runs" / "run")]) == 1
    assert "vocab.json is missing" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_missing_target_language_is_refused_with_the_list(
    several: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "texts").write_text("chat mange\n", encoding="utf-8")
    translate = ["translate", str(several), "--input", str(tmp_path / "texts"), UNGUARDED]
    assert main(translate) == 1
    assert "needs a target language: one of fra, deu, eng" in capsys.readouterr().err
    assert main([*translate, "--target-language", "ita"]) == 1
    assert "no target language 'ita'; it has fra, deu, eng" in capsys.readouterr().err
    assert main([*translate, "--target-language", "deu"]) == 0
    by_option = capsys.readouterr().out
    (tmp_path / "texts").write_text(">>deu<< chat mange\n", encoding="utf-8")
    assert main(translate) == 0
    assert capsys.readouterr().out == by_option
    assert main([*translate, "--scores"]) == 0
    assert capsys.readouterr().out.endswith(by_option)


def test_attention_names_the_target_language(
    several: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    attention = ["attention", str(several), "--output", str(page), "--target", "chat"]
    assert main([*attention, "chat mange"]) == 1
    assert "needs a target language: one of fra, deu, eng. Name it with --target-language" in (
        capsys.readouterr().err
    )
    assert not page.exists()
    assert main([*attention, "chat mange", "--target-language", "deu"]) == 0
    by_option = page.read_bytes()
    assert main([*attention, ">>deu<< chat mange"]) == 0
    assert page.read_bytes() == by_option
    one = ["attention", str(run), "--output", str(page), "--target", "chat", "chat mange"]
    assert main(one) == 0
    assert main([*one, "--target-language", "deu"]) == 1
    assert "Leave out --target-language" in capsys.readouterr().err


def test_evaluate_names_the_target_language(
    several: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = [(text, said) for text, said in expected("languages").items() if text.startswith(">>deu<< ")]
    (tmp_path / "source").write_text("".join(f"{text[8:]}\n" for text, _ in pairs), encoding="utf-8")
    (tmp_path / "reference").write_text("".join(f"{said}\n" for _, said in pairs), encoding="utf-8")
    files = ["--source", str(tmp_path / "source"), "--reference", str(tmp_path / "reference")]
    assert main(["evaluate", str(several), *files]) == 1
    assert "needs a target language: one of fra, deu, eng" in capsys.readouterr().err
    assert main(["evaluate", str(run), *files, "--target-language", "deu"]) == 1
    assert "translates into one language alone" in capsys.readouterr().err
    compared = ["--compare", str(run), "--target-language", "deu", "--json", UNGUARDED]
    assert main(["evaluate", str(several), *files, *compared]) == 0
    assert json.loads(capsys.readouterr().out)["exact"] == len(pairs)
