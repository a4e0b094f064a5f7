"""`keras-transformer info`: what a run or a model is, quickly, whatever state it is in."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import pytest

from keras_transformer import TranslationModel, __version__
from keras_transformer.cli import main
from keras_transformer.phrasebook import phrasebook
from keras_transformer.training.history import best
from tests.support.small_training import small_tiny

FILE, SHOWN = "a\x1b[2J\n.tsv", r"a\u001b[2J\n.tsv"
RECIPE = ["--batch-tokens", "512", "--max-tokens", "64", "--vocabulary-size", "400", "--precision", "float32",
          "--steps", "4", "--warmup-steps", "1", "--validate-every", "2"]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    with small_tiny():
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four steps on 300 pairs, one of them twice."""
    directory = tmp_path_factory.mktemp("trained")
    pairs = list(phrasebook("fr-en", "train", 300))
    (directory / FILE).write_text("".join(f"{s}\t{t}\n" for s, t in [*pairs, pairs[0]]), "utf-8")
    corpus = ["--pairs", str(directory / FILE), "--source-lang", "fr", "--target-lang", "en"]
    assert main(["train", *corpus, "--run", str(directory / "run"), *RECIPE]) == 0
    return directory / "run"


def told(capsys: pytest.CaptureFixture[str], path: Path) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["info", str(path), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def failed(capsys: pytest.CaptureFixture[str], path: Path) -> str:
    """All that it says, having failed."""
    capsys.readouterr()
    assert main(["info", str(path)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    return err.removeprefix("keras-transformer info: ").rstrip("\n")


def test_a_run_whose_files_are_pipes_is_damaged_and_not_waited_for(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("run.json", "history.json"):
        copy = tmp_path / name
        shutil.copytree(run, copy)
        (copy / name).unlink()
        os.mkfifo(copy / name)
        assert f"{copy / name} is damaged" in failed(capsys, copy)


def test_the_recipe_of_an_earlier_version_is_shown_by_its_current_names(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = tmp_path / "run"
    shutil.copytree(run, earlier)
    stored = (run / "recipe.json").read_text("utf-8")
    for former, current in (
        ("tokens", "batch_tokens"),
        ("peak", "peak_learning_rate"),
        ("average", "ema_decay"),
    ):
        stored = stored.replace(f'"{current}"', f'"{former}"')
    (earlier / "recipe.json").write_text(stored, "utf-8")
    assert told(capsys, earlier)["recipe"] == json.loads((run / "recipe.json").read_bytes())


def test_of_a_finished_run_it_tells_everything(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, run)
    model = TranslationModel.load(run)
    kept = best(json.loads((run / "history.json").read_bytes()))
    assert (found["kind"], found["state"], found["step"]) == ("run", "finished", 4)
    assert found["languages"] == {"source": "fr", "target": "en"}
    assert found["domain"] == SHOWN  # not where it lies
    assert found["pairs"] == {"read": 301, "kept": 300}
    assert found["network"].items() >= model.network.as_dict().items()
    assert found["network"]["preset"] == "tiny"
    assert (found["network"]["source_vocabulary"], found["network"]["joint"]) == (400, True)
    assert found["network"]["parameters"] == sum(
        weight.value.shape.num_elements() for weight in model.trainable_variables
    )
    assert found["scores"] == kept
    assert found["recipe"] == json.loads((run / "recipe.json").read_bytes())
    assert found["versions"]["keras_transformer"] == __version__
    assert found["versions"]["keras"] == keras.__version__
    assert set(found["files"]) == {path.name for path in run.iterdir()} - {".lock"}
    assert found["files"]["model.keras"] == (run / "model.keras").stat().st_size
    tokens = sum(path.stat().st_size for path in (run / "tokens").rglob("*") if path.is_file())
    assert found["files"]["tokens"] == tokens > 0


def test_for_people_it_says_it_in_words(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, run)
    assert main(["info", str(run)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{run}: a run, finished, at step 4 of 4"
    assert lines[1] == "  languages    fr to en"
    assert lines[2] == f"  domain       {SHOWN}; 300 pairs kept of 301"
    assert lines[3] == (
        "  network      tiny: 1 + 1 layers, width 64, inner 128, 2 heads, "
        f"{found['network']['parameters']:,} parameters"
    )
    assert lines[4] == "  vocabulary   400 pieces for both sides"
    assert lines[5] == (
        "  typed        shares of the sentences: 0.02 upper case, 0.02 title case, 0.02 lower case, "
        "0.02 no punctuation, 0.02 typing errors"
    )
    assert lines[6].startswith(f"  scores       BLEU {found['scores']['bleu']:.2f}, token accuracy ")
    assert f"keras {keras.__version__}, " in lines[7]
    kilobytes = f"{found['files']['model.keras'] / 1e3:.1f}"
    assert ["model.keras", kilobytes, "kB"] in [line.split() for line in lines]


def test_of_a_keras_file_it_tells_what_is_inside(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, found = told(capsys, run), told(capsys, run / "model.keras")
    assert found["kind"] == "model"
    assert found["languages"] == whole["languages"]
    assert found["network"] == whole["network"]
    assert found["versions"] == {"keras": keras.__version__}
    assert found["files"] == {"model.keras": whole["files"]["model.keras"]}
    assert main(["info", str(run / "model.keras")]) == 0
    assert capsys.readouterr().out.startswith(
        f"{run}/model.keras: a translation model\n  languages    fr to en\n"
    )


def copied(run: Path, to: Path, *without: str) -> Path:
    """A run as it stood before these were written."""
    to.mkdir()
    for path in run.iterdir():
        if path.name not in without and not path.name.startswith("."):
            (to / path.name).symlink_to(path)
    return to


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_of_a_run_whose_model_is_gone_it_tells_the_rest_and_fails(
    option: list[str], run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = copied(run, tmp_path / "run", "model.keras")
    capsys.readouterr()
    assert main(["info", str(bare), *option]) == 1
    out, err = capsys.readouterr()
    if option:
        assert json.loads(out)["languages"] == {"source": "fr", "target": "en"}
    else:
        assert "  languages    fr to en\n" in out
    assert err == (
        f"keras-transformer info: there is no model in {bare}: {bare}/model.keras is missing; "
        "restore it from an intact copy, or train again.\n"
    )


@pytest.mark.parametrize("name", ["run.json", "recipe.json", "history.json", "cleaning.json"])
@pytest.mark.parametrize("nested", ["[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000])
def test_a_deeply_nested_file_of_a_run_is_damaged(
    nested: str, name: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = copied(run, tmp_path / "run", name)
    (damaged / name).write_text(nested)
    said = failed(capsys, damaged)
    assert said.startswith(f"{damaged}/{name} is damaged")
    assert "it is nested too deeply" in said


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("versions", ["keras"]),
        ("versions", {"keras": {"keras": []}}),
        ("corpus", {"pairs": [["a"]]}),
        ("corpus", {"source": {"a": 1}}),
        ("corpus", {"phrasebook": ["fr-en"]}),
        ("corpus", {"max_words": "many"}),
        ("corpus", {"keep_duplicates": None}),
    ],
)
def test_a_run_that_says_something_of_another_type_is_damaged(
    key: str, value: Any, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = copied(run, tmp_path / "run", "run.json")
    about = json.loads((run / "run.json").read_bytes())
    about[key] = {**about[key], **value} if key == "corpus" else value
    (damaged / "run.json").write_text(json.dumps(about))
    assert failed(capsys, damaged).startswith(f"{damaged}/run.json is damaged (")


@pytest.mark.parametrize(
    "config",
    [[], {"class_name": "TranslationModel", "config": []}, {"class_name": "TranslationModel", "config": {}}],
)
def test_a_keras_file_that_describes_something_else_is_told(
    config: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("metadata.json", '{"keras_version": "3.15.0"}')
    assert failed(capsys, path).startswith(f"{path} ")


def test_a_runs_languages_cannot_command_the_terminal(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = copied(run, tmp_path / "run", "run.json")
    about = json.loads((run / "run.json").read_bytes())
    about["source_lang"] = "fr\x1b]0;owned\x07\x9b2J"
    (hostile / "run.json").write_text(json.dumps(about))
    assert main(["info", str(hostile)]) == 0
    out = capsys.readouterr().out
    assert r"  languages    fr\u001b]0;owned\u0007\u009b2J to en" in out.splitlines()
    assert main(["info", str(hostile), "--json"]) == 0
    out = capsys.readouterr().out
    assert out.isascii() and json.loads(out)["languages"]["source"] == about["source_lang"]


def test_a_run_that_was_prepared_and_not_trained(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    early = copied(run, tmp_path / "run", "history.json", "model.keras", "checkpoints", "tensorboard")
    found = told(capsys, early)
    assert (found["state"], found["step"], found["scores"]) == ("unfinished", 0, None)
    assert found["network"] == told(capsys, run)["network"]
    assert main(["info", str(early)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{early}: a run, unfinished, at step 0 of 4\n")
    assert "  scores       not known yet\n" in out


def test_a_run_that_was_only_begun(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begun = tmp_path / "run"
    begun.mkdir()
    (begun / "run.json").write_bytes((run / "run.json").read_bytes())
    assert told(capsys, begun)["state"] == "begun"
    assert main(["info", str(begun)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{begun}: a run that is not prepared yet\n  languages    fr to en\n")


def test_a_run_that_lost_patience_is_finished(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped = copied(run, tmp_path / "run", "history.json", "recipe.json")
    recipe = json.loads((run / "recipe.json").read_bytes())
    history = json.loads((run / "history.json").read_bytes())
    for patience, bleu, state in ((1, [9.0, 8.0], "finished"), (1, [8.0, 9.0], "unfinished"),
                                  (2, [9.0, 8.0], "unfinished"), (0, [9.0, 8.0], "unfinished")):  # fmt: skip
        (stopped / "recipe.json").write_text(json.dumps({**recipe, "steps": 100, "patience": patience}))
        scores = [{**one, "bleu": figure} for one, figure in zip(history, bleu, strict=True)]
        (stopped / "history.json").write_text(json.dumps(scores))
        assert told(capsys, stopped)["state"] == state


@pytest.mark.parametrize("name", ["run", "model.keras"])
def test_it_loads_neither_keras_nor_tensorflow(run: Path, name: str) -> None:
    path = run if name == "run" else run / name
    code = (
        "import sys\nfrom keras_transformer.cli import main\n"
        f"assert main(['info', {str(path)!r}]) == 0\n"
        "print({'keras', 'tensorflow', 'h5py', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "set()"


def test_what_is_no_model_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "missing"
    assert failed(capsys, missing) == f"{missing} does not exist: name a run directory or a .keras file."
    assert failed(capsys, tmp_path) == f"{tmp_path} holds no run: there is no run.json in it."
    text = tmp_path / "a.txt"
    text.write_text("a text")
    assert failed(capsys, text) == f"{text} is not a .keras file, or is damaged: File is not a zip file."
    other = tmp_path / "other.keras"
    keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]).save(other)
    assert (
        failed(capsys, other)
        == f"{other} holds a Sequential, not a TranslationModel or a RecurrentTranslationModel."
    )


def test_a_damaged_file_of_a_run_is_told_by_its_name(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = copied(run, tmp_path / "run", "history.json")
    (damaged / "history.json").write_text('[{"step": ')
    assert failed(capsys, damaged).startswith(f"{damaged}/history.json is damaged: Expecting value")


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("run.json", "[]", " (it holds [], not an object): restore it"),
        (
            "run.json",
            '{"format": 1}',
            " (it does not say source_lang, target_lang, corpus, recipe): restore it",
        ),
        ("recipe.json", "[]", ": it holds [], not an object."),
        ("recipe.json", '{"stepps": 3}', ": a recipe has no stepps; it has architecture, "),
        ("history.json", "{}", ": it holds {}, not a list."),
        ("history.json", "[3]", ": in 3 there is no number step, bleu, loss, accuracy."),
        (
            "history.json",
            '[{"step": 4, "bleu": "?"}]',
            ": in {'step': 4, 'bleu': '?'} there is no number bleu, loss, ",
        ),
        ("cleaning.json", "7", ": it holds 7, not an object."),
        ("cleaning.json", '{"read": 3}', ": in {'read': 3} there is no number kept."),
    ],
)
def test_a_file_of_a_run_that_holds_something_else_is_told_by_its_name(
    run: Path, tmp_path: Path, name: str, content: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = copied(run, tmp_path / "run", name)
    (damaged / name).write_text(content)
    said = failed(capsys, damaged)
    assert said.startswith(f"{damaged}/{name} is damaged{why}")
    assert "\n" not in said
