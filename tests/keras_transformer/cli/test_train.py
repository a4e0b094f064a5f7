"""`keras-transformer train`: what it leaves, and how a run goes on."""

import json
import math
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace

import pytest
import tensorflow as tf

from keras_transformer.cli import main
from keras_transformer.phrasebook import phrasebook
from keras_transformer.training import recipe as recipe_module
from keras_transformer.training.cluster import ray_launcher
from keras_transformer.training.data.typed import KINDS
from keras_transformer.training.history import best
from keras_transformer.training.runs.run_directory import Run
from tests.support import fork_server
from tests.support.commands import failed
from tests.support.small_training import between_model_and_checkpoint, small_tiny

LANGUAGES = ["--source-lang", "fr", "--target-lang", "en"]
SMALL = ["--batch-tokens", "512", "--max-tokens", "64", "--vocabulary-size", "400", "--precision", "float32"]
EIGHT_STEPS = [
    *SMALL, "--steps", "8", "--warmup-steps", "3", "--validate-every", "4",
    "--gradient-accumulation-steps", "2",
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    with small_tiny():
        yield


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """--source F --target F and the languages: 300 pairs."""
    directory = tmp_path_factory.mktemp("corpus")
    for name, side in zip(
        ("a.fr", "a.en"), zip(*phrasebook("fr-en", "train", 300), strict=True), strict=True
    ):
        (directory / name).write_text("".join(f"{text}\n" for text in side), "utf-8")
    return ["--source", str(directory / "a.fr"), "--target", str(directory / "a.en"), *LANGUAGES]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, corpus: list[str]) -> Path:
    """A run of eight steps, each of two batches, with checkpoints at 4 and 8."""
    run = tmp_path_factory.mktemp("trained") / "run"
    assert main(["train", *corpus, "--run", str(run), *EIGHT_STEPS]) == 0
    return run


@pytest.fixture
def half_way(trained: Path, tmp_path: Path) -> Path:
    """The same run as it stood after four steps."""
    run = tmp_path / "half"
    shutil.copytree(trained, run)
    (run / "checkpoints" / "step-000000008.npz").unlink()
    return run


def tree(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


# A run that is there


def test_a_finished_run_resumes_to_its_end_at_once(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(trained)
    assert main(["train", "--run", str(trained), "--resume"]) == 0
    out, _ = capsys.readouterr()
    history = json.loads((trained / "history.json").read_bytes())
    kept = best(history)
    assert out.splitlines() == [
        f"best model: {trained}/model.keras, step {kept['step']}, held-out BLEU {kept['bleu']:.2f}",
        f"curves:     {trained}/curves.png",
        f"next:       echo ... | keras-transformer translate {trained}",
    ]
    assert tree(trained) == before


def test_steps_of_two_batches_are_counted_as_steps(trained: Path) -> None:
    assert [scores["step"] for scores in json.loads((trained / "history.json").read_bytes())] == [4, 8]


def test_a_run_is_not_overwritten(
    trained: Path, corpus: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = tree(trained)
    assert failed(capsys, "train", *corpus, "--run", trained) == (
        f"{trained} holds a run already: continue it with `train --run {trained} --resume`, or name another."
    )
    assert tree(trained) == before


def test_what_is_no_run_is_left_alone(
    corpus: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "letters.txt").write_text("mine")
    said = failed(capsys, "train", *corpus, "--run", tmp_path)
    assert said == f"{tmp_path} exists and is not a run: name a new or an empty directory."
    assert tree(tmp_path) == {"letters.txt": b"mine"}


def test_a_second_process_is_kept_out(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Run(trained).lock():
        assert failed(capsys, "train", "--run", trained, "--resume") == (
            f"another process is at work on {trained}: wait for it, or end it."
        )


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_where_no_run_is_there_is_nothing_to_resume(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    said = failed(capsys, "train", "--run", tmp_path / name, "--resume")
    assert said == f"{tmp_path / name} holds no run: there is no run.json in it."
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]


def test_resume_with_options_is_refused_with_their_names(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--steps", 9, "--phrasebook", "fr-en", "--separate", "--keep-duplicates", "--max-words", 3]
    assert failed(capsys, "train", "--run", trained, "--resume", *options, status=2) == (
        "error: --resume continues the run with its first options, except for --steps: "
        "leave out --phrasebook, --max-words, --keep-duplicates, --separate. "
        "For other options begin a new run in another --run, or continue from this one with --from."
    )


@pytest.mark.parametrize("option", [["--dropout", 0], ["--seed", 0], ["--source-lang", "de"]])
def test_resume_refuses_a_zero_and_a_language_too(
    trained: Path, option: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert str(option[0]) in failed(capsys, "train", "--run", trained, "--resume", *option, status=2)


def test_a_damaged_checkpoint_is_told_and_once_removed_the_one_before_is_taken(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    newest = run / "checkpoints" / "step-000000008.npz"
    newest.write_bytes(newest.read_bytes()[:-4000])
    said = failed(capsys, "train", "--run", run, "--resume")
    assert said.startswith(f"{newest} is damaged (")
    assert said.endswith("): remove it, and the run goes on from the checkpoint before it.")


def test_a_damaged_tokenizer_is_told(half_way: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (half_way / "tokenizer" / "shared.model").write_bytes(b"damaged")
    assert "shared.model is damaged" in failed(capsys, "train", "--run", half_way, "--resume")


EARLIER_OPTIONS = """{
    "tokens": 512,
    "vocabulary": 400,
    "max_tokens": 64,
    "precision": "float32",
    "steps": 8,
    "warm_up": 3,
    "validate_every": 4,
    "accumulate": 2
  }"""
EARLIER_RECIPE = """{
  "preset": "tiny",
  "dropout": 0.3,
  "attention_dropout": 0.0,
  "inner_dropout": 0.0,
  "piece_dropout": 0.0,
  "both_ways": 0.33,
  "tokenizer": "bpe",
  "joint": true,
  "vocabulary": 400,
  "max_tokens": 64,
  "tokens": 512,
  "accumulate": 2,
  "steps": 8,
  "schedule": "cosine",
  "peak": 0.005,
  "warm_up": 3,
  "smoothing": 0.1,
  "clip": 1.0,
  "average": 0.998,
  "average_last": 0,
  "validate_every": 4,
  "patience": 0,
  "precision": "float32",
  "seed": 0
}
"""


@pytest.mark.parametrize("prepared", [True, False])
def test_an_unfinished_run_of_an_earlier_version_goes_on(
    half_way: Path, trained: Path, prepared: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = json.loads((half_way / "run.json").read_bytes())
    earlier = json.dumps({**begun, "recipe": json.loads(EARLIER_OPTIONS)}, indent=2)
    (half_way / "run.json").write_text(earlier + "\n", "utf-8")
    (half_way / "recipe.json").unlink()
    if prepared:
        (half_way / "recipe.json").write_text(EARLIER_RECIPE, "utf-8")
    capsys.readouterr()
    assert main(["train", "--run", str(half_way), "--resume"]) == 0
    assert "recipe: architecture transformer, preset tiny, dropout 0.3, " in (told := capsys.readouterr().err)
    recipe = json.loads((trained / "recipe.json").read_bytes())
    if prepared:  # before a recipe could have variants
        recipe |= dict.fromkeys(KINDS, 0.0)
    for name, value in recipe.items():
        assert f"{name} {value}" in told
    assert (half_way / "history.json").read_bytes() == (trained / "history.json").read_bytes()


def test_a_damaged_recipe_is_told(half_way: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (half_way / "recipe.json").write_bytes(b'{"preset": ')
    assert "recipe.json" in failed(capsys, "train", "--run", half_way, "--resume")


def test_damaged_held_out_pairs_are_told_and_prepared_again_as_it_is_said(
    half_way: Path, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = half_way / "valid.jsonl"
    damaged.write_bytes(b'["un", "one"]\n["deux"]\n')
    assert failed(capsys, "train", "--run", half_way, "--resume") == (
        f"{damaged} is damaged (line 2 is not two texts): remove recipe.json beside it, and "
        "`train --resume` prepares the run again from its corpus."
    )
    (half_way / "recipe.json").unlink()
    assert main(["train", "--run", str(half_way), "--resume"]) == 0
    for name in ("valid.jsonl", "recipe.json", "history.json", "tokens/source.ids", "tokens/target.ids"):
        assert (half_way / name).read_bytes() == (trained / name).read_bytes(), name


def test_a_run_is_not_prepared_again_from_another_corpus_than_its_checkpoints_are_of(
    half_way: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (half_way / "recipe.json").unlink()
    pairs = tmp_path / "other.tsv"
    pairs.write_text("".join("\t".join(pair) + "\n" for pair in phrasebook("en-fr", "valid", 300)), "utf-8")
    before = tree(half_way / "checkpoints") | tree(half_way / "tokenizer")
    other = ["--pairs", pairs, "--source-lang", "en", "--target-lang", "fr"]
    said = failed(capsys, "train", *other, "--run", half_way, *EIGHT_STEPS)
    assert said == (
        f"{half_way}/checkpoints belong to another corpus or tokenizer: begin a new run for this one"
    )
    assert tree(half_way / "checkpoints") | tree(half_way / "tokenizer") == before


def test_held_out_pairs_that_are_gone_are_told(half_way: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (half_way / "valid.jsonl").write_bytes(b"")
    said = failed(capsys, "train", "--run", half_way, "--resume")
    assert said.startswith(
        f"{half_way}/valid.jsonl is damaged: it has no pairs: remove recipe.json beside it"
    )


def test_a_best_model_that_is_gone_is_told(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    (run / "model.keras").unlink()
    said = failed(capsys, "train", "--run", run, "--resume")
    assert said.startswith(f"{run}/model.keras, the best model of this run (step ")
    assert said.endswith("), is missing: restore it, or begin a new run.")


def test_a_history_and_curves_that_are_gone_come_back_from_the_checkpoint(
    trained: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    for name in ("history.json", "curves.png"):
        (run / name).unlink()
    assert main(["train", "--run", str(run), "--resume"]) == 0
    for name in ("history.json", "curves.png"):
        assert (run / name).read_bytes() == (trained / name).read_bytes()


@pytest.mark.parametrize("content", ["[]", '{"format": 1}'])
def test_a_run_json_that_says_nothing_is_told(
    half_way: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (half_way / "run.json").write_text(content)
    said = failed(capsys, "train", "--run", half_way, "--resume")
    assert said.startswith(f"{half_way}/run.json is damaged (it ")
    assert said.endswith("): restore it from an intact copy, or begin a new run.")


def test_a_full_disk_is_told_and_the_run_is_as_it_was(
    half_way: Path, capsys: pytest.CaptureFixture[str], disk_of: Callable[[int], AbstractContextManager[None]]
) -> None:
    before = tree(half_way / "checkpoints")
    with disk_of(between_model_and_checkpoint(half_way)):
        said = failed(capsys, "train", "--run", half_way, "--resume")
    assert "File too large" in said
    assert tree(half_way / "checkpoints") == before
    assert not list(half_way.rglob(".partial*"))


def test_a_log_that_cannot_be_written_is_told(half_way: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(half_way / "tensorboard")
    (half_way / "tensorboard").write_text("in the way")
    assert failed(capsys, "train", "--run", half_way, "--resume") == (
        f"the log in {half_way}/tensorboard could not be written (Not a directory): "
        "solve that, then continue with --resume."
    )


def test_a_disk_that_is_full_when_the_log_is_written_is_told(
    tmp_path: Path, disk_of: Callable[[int], AbstractContextManager[None]]
) -> None:
    """The log alone: a checkpoint is larger, and would be the first that the disk has no room for."""
    from keras_transformer.training.cluster.workers import Workers
    from keras_transformer.training.trainer import Keeper, TrainingError

    scores = {"step": 4, "training_loss": 3.0, "loss": 3.0, "accuracy": 0.5, "bleu": 1.0}
    recipe = SimpleNamespace(gradient_accumulation_steps=1, validate_every=4, steps=8)
    trainer = SimpleNamespace(
        run=Run(tmp_path),
        recipe=recipe,
        step=0,
        batches=1,
        workers=Workers(),
        keep=lambda *_: scores,
        check_same_state=lambda step: None,
        training_loss=lambda: 3.0,
    )
    keeper = Keeper(trainer, SimpleNamespace())
    keeper.set_model(SimpleNamespace(optimizer=SimpleNamespace(learning_rate=1e-3)))
    (log,) = (tmp_path / "tensorboard").iterdir()
    with disk_of(log.stat().st_size + 50), pytest.raises(TrainingError) as told:
        keeper.on_train_batch_end(3, {"loss": 3.0})
    assert str(told.value) == (
        f"the log in {tmp_path}/tensorboard could not be written ({log}; File too large): "
        "solve that, then continue with --resume."
    )


def test_a_loss_that_is_no_number_stops_the_run_and_nothing_of_it_is_kept(
    corpus: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe_module, "MAX_PEAK_LEARNING_RATE", math.inf)  # within it the loss is finite
    run = tmp_path / "run"
    recipe = [
        "--steps", "8", "--warmup-steps", "1", "--validate-every", "1", "--peak-learning-rate", "1e30",
        "--ema-decay", "0",
    ]  # fmt: skip
    said = failed(capsys, "train", *corpus, "--run", run, *SMALL, *recipe)
    assert said == (
        "the held-out loss is nan at step 1. Begin a new run with a lower --peak-learning-rate, more "
        "--warmup-steps, or --precision float32; this run stays at its last checkpoint."
    )
    assert not list(run.rglob("step-*.npz"))
    assert not (run / "model.keras").exists()
    assert not (run / "history.json").exists()


# A finished run that is given more steps


def test_a_finished_run_is_given_more_steps_and_is_told_its_learning_rate(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, killed = tmp_path / "run", tmp_path / "killed"
    shutil.copytree(trained, run)
    more = ["--resume", "--steps", "16"]
    capsys.readouterr()
    assert main(["train", "--run", str(run), *more]) == 0
    # a quarter of the 8 new steps, to 5e-3 (1 + cos(pi 7/13)) / 2
    told = (
        "from step 8 the learning rate rises in 2 steps to 0.0022, where the cosine that ends at step 16 is"
    )
    assert told in capsys.readouterr().err
    history = json.loads((run / "history.json").read_bytes())
    assert [scores["step"] for scores in history] == [4, 8, 12, 16]
    assert history[:2] == json.loads((trained / "history.json").read_bytes())
    assert history[-1]["loss"] < history[1]["loss"]

    shutil.copytree(run, killed)
    (killed / "checkpoints" / "step-000000016.npz").unlink()  # killed after step 12
    (killed / "history.json").write_text(json.dumps(history[:3]))
    assert main(["train", "--run", str(killed), *more]) == 0  # the same command
    assert json.loads((killed / "history.json").read_bytes()) == history
    assert "must be more than the 16 that the run has done; got 16" in failed(
        capsys, "train", "--run", killed, *more
    )


def test_a_run_that_is_not_finished_is_given_no_more_steps(
    half_way: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = json.loads((half_way / "history.json").read_bytes())
    (half_way / "history.json").write_text(json.dumps(history[:1]))
    before = tree(half_way)
    said = failed(capsys, "train", "--run", half_way, "--resume", "--steps", 16)
    assert said.startswith(f"{half_way} is at step 4 of 8: end it with --resume alone")
    assert tree(half_way) == before


def test_ray_is_not_started_to_continue_a_run_that_its_workers_would_refuse(
    trained: Path, half_way: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ray_launcher, "launch", lambda _: pytest.fail("it is started"))

    def refused(run: Path, workers: int, *options: object) -> str:
        ray = ["--engine", "ray", "--workers", workers]
        return failed(capsys, "train", "--run", run, "--resume", *ray, *options)

    history = json.loads((half_way / "history.json").read_bytes())
    (half_way / "history.json").write_text(json.dumps(history[:1]))
    before = tree(half_way)
    assert "2 batches (gradient_accumulation_steps), which 3 workers" in refused(half_way, 3)
    assert "must be more than the 8 that the run has done; got 8" in refused(trained, 2, "--steps", 8)
    assert f"{half_way} is at step 4 of 8" in refused(half_way, 2, "--steps", 16)
    with Run(half_way).lock():
        assert "another process is at work" in refused(half_way, 2)
    assert tree(half_way) == before
    (half_way / "recipe.json").write_text("{")
    assert "recipe.json is damaged" in refused(half_way, 2)
    (half_way / "recipe.json").unlink()
    assert f"{half_way} is not prepared yet" in refused(half_way, 2, "--steps", 16)
    assert "2 batches (gradient_accumulation_steps), which 3 workers" in refused(half_way, 3, "--steps", 8)


# What is asked for on the way


def test_patience_ends_a_run_and_a_resumed_one_stays_ended(
    corpus: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    # a rate of next to nothing: no validation is better than the first
    recipe = [
        *SMALL, "--steps", "40", "--warmup-steps", "39", "--peak-learning-rate", "1e-30", "--ema-decay", "0",
    ]  # fmt: skip
    patient = ["--validate-every", "1", "--patience", "2"]
    assert main(["train", *corpus, "--run", str(run), *recipe, *patient]) == 0
    history = json.loads((run / "history.json").read_bytes())
    assert [scores["step"] for scores in history] == [1, 2, 3]  # the best, and two that are not better
    before = tree(run)
    capsys.readouterr()
    assert main(["train", "--run", str(run), "--resume"]) == 0
    assert f"best model: {run}/model.keras, step 1, " in capsys.readouterr().out
    assert tree(run) == before


def test_tensorboard_shows_the_scores_of_each_validation_and_the_learning_rate(trained: Path) -> None:
    shown: dict[int, dict[str, float]] = {}
    for path in sorted((trained / "tensorboard").iterdir()):
        for event in tf.compat.v1.train.summary_iterator(str(path)):
            for value in event.summary.value:
                shown.setdefault(event.step, {})[value.tag] = float(tf.make_ndarray(value.tensor))
    history = json.loads((trained / "history.json").read_bytes())
    assert list(shown) == [4, 8]
    for scores in history:
        rate = shown[scores["step"]].pop("learning_rate")
        # a warm-up of 3, then half a cosine over 5: the rate that the next step would have
        assert rate == pytest.approx({4: 5e-3 * (1 + math.cos(math.pi * 2 / 5)) / 2, 8: 0.0}[scores["step"]])
        assert shown[scores["step"]] == pytest.approx(scores, rel=1e-6)


def test_pairs_from_standard_input_are_the_pairs_of_the_file(
    corpus: list[str], trained: Path, tmp_path: Path
) -> None:
    source, target = (Path(corpus[place]).read_text("utf-8").splitlines() for place in (1, 3))
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{one}\t{other}\n" for one, other in zip(source, target, strict=True)))
    run = tmp_path / "run"
    command = [sys.executable, "-m", "keras_transformer", "train", "--pairs", "-", *LANGUAGES, "--run", run]
    with (
        pairs.open() as stdin,
        fork_server.Popen(
            [*command, *EIGHT_STEPS], stdin=stdin, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stderr
        for line in process.stderr:
            if line.startswith("recipe: "):  # all is prepared
                process.send_signal(signal.SIGINT)
    assert process.returncode == 130
    for part in ("tokens/source.ids", "tokens/target.ids", "tokenizer/shared.model", "valid.jsonl"):
        assert (run / part).read_bytes() == (trained / part).read_bytes(), part
