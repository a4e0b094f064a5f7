"""`keras-transformer train --from`: a run that goes on from another run, or from an imported model."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer import Tokenizer, TranslationModel
from keras_transformer.cli import main
from keras_transformer.phrasebook import phrasebook
from keras_transformer.text.token_store import TokenStore
from keras_transformer.training.recipe import Recipe
from keras_transformer.training.runs.run_directory import Run
from keras_transformer.training.trainer import Trainer
from tests.support.commands import failed
from tests.support.paths import ROOT
from tests.support.small_training import small_tiny

GOLDEN = ROOT / "tests" / "keras_transformer" / "pretrained" / "golden"
SMALL = ["--batch-tokens", "512", "--max-tokens", "64", "--precision", "float32"]
FOUR_STEPS = [*SMALL, "--steps", "4", "--warmup-steps", "1", "--validate-every", "2"]


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    with small_tiny():
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """old.tsv and new.tsv, 300 pairs each, of which 100 are in both."""
    folder = tmp_path_factory.mktemp("from")
    pairs = list(phrasebook("fr-en", "train", 500))
    for name, part in (("old.tsv", pairs[:300]), ("new.tsv", pairs[200:])):
        (folder / name).write_text("".join(f"{source}\t{target}\n" for source, target in part), "utf-8")
    return folder


@pytest.fixture(scope="module")
def old(folder: Path) -> Path:
    corpus = ["--pairs", str(folder / "old.tsv"), "--source-lang", "fr", "--target-lang", "en"]
    size = ["--vocabulary-size", "400"]
    assert main(["train", *corpus, "--run", str(folder / "old"), *FOUR_STEPS, *size]) == 0
    return folder / "old"


@pytest.fixture(scope="module")
def tuned(folder: Path, old: Path) -> Path:
    words = ["--from", old, "--pairs", folder / "new.tsv", "--run", folder / "tuned", *FOUR_STEPS]
    assert main(["train", *map(str, words)]) == 0
    return folder / "tuned"


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())


def sources(path: Path) -> set[str]:
    return {json.loads(line)[0] for line in path.read_text("utf-8").splitlines()}


def test_it_begins_with_the_best_weights_and_the_tokenizer_of_the_other_run(tuned: Path, old: Path) -> None:
    before, initial = TranslationModel.load(old), TranslationModel.load(tuned / "initial.keras")
    for one, other in zip(before.get_weights(), initial.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    first, *_, last = read(tuned / "history.json")
    best = max(read(old / "history.json"), key=lambda scores: (scores["bleu"], -scores["loss"]))
    assert first["step"] == 0
    assert first["initial_loss"] == pytest.approx(best["loss"], rel=1e-5)
    assert first["initial_bleu"] == best["bleu"]
    assert last["loss"] < first["loss"]
    after = TranslationModel.load(tuned)
    assert after.tokenizer.get_config() == before.tokenizer.get_config()
    assert any((one != two).any() for one, two in zip(before.get_weights(), after.get_weights(), strict=True))


def test_what_the_other_run_held_out_is_scored_and_not_learned(tuned: Path, old: Path) -> None:
    held_out = sources(old / "valid.jsonl")
    assert sources(tuned / "initial-valid.jsonl") == held_out
    store = TokenStore(tuned / "tokens")
    rows = store.rows(0, np.arange(len(store)), int(store.lengths()[:, 0].max()))
    assert held_out.isdisjoint(Tokenizer.load(tuned / "tokenizer").decode_source(rows.tolist()))
    assert held_out.isdisjoint(sources(tuned / "valid.jsonl"))


def test_a_run_from_nothing_does_not_score_what_a_failed_start_left(
    folder: Path, old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, left = tmp_path / "run", {"initial.keras", "initial-valid.jsonl"}
    (tmp_path / "short.tsv").write_text("Oui.\tYes.\n", "utf-8")
    start = ["--from", old, "--pairs", tmp_path / "short.tsv", "--run", run]
    assert "both are needed" in failed(capsys, "train", *start)
    assert left <= {path.name for path in run.iterdir()}
    corpus = ["--pairs", folder / "new.tsv", "--source-lang", "fr", "--target-lang", "en"]
    recipe = [*SMALL, "--steps", 1, "--vocabulary-size", 400]
    assert main(["train", *map(str, [*corpus, "--run", run, *recipe])]) == 0
    assert left.isdisjoint(path.name for path in run.iterdir())
    assert all("initial_bleu" not in scores for scores in read(run / "history.json"))
    shutil.copy(old / "valid.jsonl", run / "initial-valid.jsonl")  # left there by an earlier version
    assert Trainer(Run(run), Recipe.from_run(read(run / "recipe.json"))).validation_before is None


def test_the_table_of_training_shows_both_scores_and_the_output_says_where_it_comes_from(
    folder: Path, old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--from", old, "--pairs", folder / "new.tsv", "--run", tmp_path / "run", *SMALL, "--steps", 1]
    capsys.readouterr()
    assert main(["train", *map(str, words)]) == 0
    err = capsys.readouterr().err
    assert f"from: {old} (old.tsv, step " in err
    assert "pairs are not trained on: their sources are held out by the other run" in err
    assert "peak_learning_rate 0.001, warmup_steps 1" in err  # 0.064 over the width, 64
    table = [line for line in err.splitlines() if line.startswith("step ") and "held out: " in line]
    assert [line.partition(":")[0] for line in table] == ["step 0", "step 1"]
    assert all("of the run before: loss " in line for line in table)


def test_info_shows_where_it_comes_from(tuned: Path, old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["info", str(tuned), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["from"] == read(tuned / "run.json")["from"]
    assert (shown["from"]["path"], shown["from"]["domain"]) == (str(old), "old.tsv")
    assert shown["domain"] == "new.tsv, after old.tsv"  # without folders: exported versions have it
    assert main(["info", str(tuned)]) == 0
    out = capsys.readouterr().out
    assert f"  from         {old} (old.tsv, step " in out
    assert "on those of the run before BLEU " in out


@pytest.mark.parametrize("killed", ["before its recipe", "at the first validation"])
def test_it_goes_on_without_the_other_run_as_if_nothing_had_happened(
    tuned: Path, old: Path, killed: str, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(tuned, run)
    about = read(run / "run.json")
    about["from"]["path"] = str(tmp_path / "gone")
    (run / "run.json").write_text(json.dumps(about))
    lost = {
        "before its recipe": ["checkpoints", "history.json", "model.keras", "recipe.json", "tokens"],
        "at the first validation": ["checkpoints/step-000000004.npz", "history.json"],
    }
    for name in lost[killed]:
        (shutil.rmtree if (run / name).is_dir() else Path.unlink)(run / name)
    assert main(["train", "--run", str(run), "--resume"]) == 0
    assert read(run / "history.json") == read(tuned / "history.json")
    for one, two in zip(
        TranslationModel.load(run).get_weights(), TranslationModel.load(tuned).get_weights(), strict=True
    ):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    "option", [["--preset", "base"], ["--tokenizer", "bpe"], ["--vocabulary-size", "500"], ["--separate"]]
)
def test_a_network_or_tokenizer_of_its_own_is_refused(
    old: Path, option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--from", old, "--pairs", "new.tsv", "--run", tmp_path / "run", *option]
    said = failed(capsys, "train", *words, status=2)
    assert "the network and the tokenizer of the other run" in said
    assert said.endswith(f"leave out {option[0]}")
    assert not (tmp_path / "run").exists()


def test_what_is_no_model_is_refused_before_anything_is_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    (tmp_path / "empty").mkdir()
    (tmp_path / "damaged.keras").write_bytes(b"PK")
    for path, why in (
        ("gone", "does not exist"),
        ("empty", "there is no model in"),
        ("damaged.keras", "is damaged"),
    ):
        words = ["--from", tmp_path / path, "--pairs", folder / "new.tsv", "--run", run]
        assert why in failed(capsys, "train", *words)
    assert not run.exists()
    assert "--from" in failed(capsys, "train", "--run", run, "--resume", "--from", tmp_path, status=2)


def test_an_imported_model_learns_text_of_the_target_that_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", str(GOLDEN / "languages"), "--run", str(tmp_path / "imported")]) == 0
    lines = [f"le chat {word}\tdie katze {word}\n" for word in ("mange", "boit", "dort", "rouge")]
    (tmp_path / "train.tsv").write_text("".join(lines[:3]), "utf-8")
    (tmp_path / "v.fr").write_text("le chat rouge\n", "utf-8")
    (tmp_path / "v.de").write_text("die katze rouge\n", "utf-8")
    valid = ["--valid-source", tmp_path / "v.fr", "--valid-target", tmp_path / "v.de"]
    recipe = [*SMALL[4:], "--steps", 20, "--batch-tokens", 512, "--peak-learning-rate", 0.01]
    words = ["--from", tmp_path / "imported", "--pairs", tmp_path / "train.tsv", "--target-lang", "deu"]
    run = tmp_path / "run"
    assert main(["train", *map(str, [*words, *valid, *recipe, "--run", run])]) == 0
    assert sources(run / "valid.jsonl") == {">>deu<< le chat rouge"}
    first, *_, last = history = read(run / "history.json")
    assert last["loss"] < first["loss"]
    assert all("initial_bleu" not in scores for scores in history)  # an import holds nothing out
    about = read(tmp_path / "imported" / "run.json")
    after = TranslationModel.load(run)
    assert after.tokenizer.target_lang == about["target_lang"]
    assert after.tokenizer.target_languages == ("fra", "deu", "eng")
    assert len(after.translate(["le chat dort"], target_language="deu")) == 1
    again = ["--from", tmp_path / "imported", "--pairs", tmp_path / "train.tsv", "--run", tmp_path / "b"]
    assert "needs a target language: one of fra, deu, eng" in failed(capsys, "train", *again)
