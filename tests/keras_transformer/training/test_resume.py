"""A run that is killed goes on as if nothing had happened: real processes, real kills, equal to the bit."""

import json
import random
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.text.corpus import Pair
from keras_transformer.training.history import best
from keras_transformer.training.recipe import Recipe
from keras_transformer.training.runs import checkpoint
from keras_transformer.training.runs.run_directory import Run
from keras_transformer.training.trainer import Trainer
from tests.support.small_training import between_model_and_checkpoint, small_tiny
from tests.support.trainings import Trainings, assert_same, checkpoints, finish, start, wait_until


def limit_files(process: subprocess.Popen[bytes], largest: int) -> None:
    """From now on it is as if the disk had so many bytes left for each file."""
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (largest, largest))


def stop_when(condition: Callable[[], Any], arguments: list[str], how: signal.Signals) -> tuple[int, str]:
    """Start the command, end it as soon as the condition holds; -> exit status and stderr."""
    process = start(arguments)
    wait_until(condition, process)
    process.send_signal(how)
    err = process.communicate(timeout=60)[1].decode()
    return process.returncode, err


def being_written(run: Path) -> list[Path]:
    return list((run / "checkpoints").glob(".partial*"))


@pytest.fixture(scope="module")
def trainings(tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair]) -> Trainings:
    return Trainings(tmp_path_factory.mktemp("corpus"), pairs)


@pytest.fixture(scope="module")
def uninterrupted(trainings: Trainings, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    run = tmp_path_factory.mktemp("whole") / "run"
    return (run, *finish(trainings.new(run), subprocess.Popen))  # strings have other hashes than in forks


def test_a_run_directory_has_all_that_is_promised(uninterrupted: tuple[Path, str, str]) -> None:
    run, out, err = uninterrupted
    assert {path.name for path in run.iterdir()} - {".lock"} == {
        "run.json", "cleaning.json", "recipe.json", "tokenizer", "tokens", "valid.jsonl", "checkpoints",
        "history.json", "curves.png", "tensorboard", "model.keras",
    }  # fmt: skip
    history = json.loads((run / "history.json").read_bytes())
    assert [scores["step"] for scores in history] == [2, 4, 6, 8]
    assert all(set(scores) == {"step", "training_loss", "loss", "accuracy", "bleu"} for scores in history)
    assert history[-1]["loss"] < history[0]["loss"]
    assert [path.name for path in checkpoints(run)] == ["step-000000006.npz", "step-000000008.npz"]
    assert (run / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert list((run / "tensorboard").glob("events.*"))
    asked = json.loads((run / "run.json").read_bytes())
    assert (asked["source_lang"], asked["target_lang"], asked["recipe"]["steps"]) == ("fr", "en", 8)
    kept = best(history)
    assert out.splitlines()[0] == (
        f"best model: {run}/model.keras, step {kept['step']}, held-out BLEU {kept['bleu']:.2f}"
    )
    assert err.count("held out: loss ") == 4
    assert "Warning" not in err


def test_killed_in_preparation_and_in_a_checkpoint_and_interrupted_it_ends_the_same(
    trainings: Trainings, uninterrupted: tuple[Path, str, str], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    killed, _ = stop_when((run / "corpus.jsonl").exists, trainings.new(run), signal.SIGKILL)
    assert killed == -signal.SIGKILL
    assert not checkpoints(run)

    def second_is_being_written() -> bool:
        return bool(checkpoints(run) and being_written(run))

    killed, _ = stop_when(second_is_being_written, trainings.resumed(run), signal.SIGKILL)
    assert killed == -signal.SIGKILL
    seen = checkpoints(run)
    assert 1 <= len(seen) <= 2

    status, err = stop_when(lambda: checkpoints(run) != seen, trainings.resumed(run), signal.SIGINT)
    assert status == 130
    assert err.endswith("keras-transformer train: interrupted\n")
    assert "Traceback" not in err

    finish(trainings.resumed(run))
    assert_same(run, uninterrupted[0])
    assert not being_written(run)


def test_the_mean_of_the_last_validations_survives_a_full_disk(trainings: Trainings, tmp_path: Path) -> None:
    recipe = {"ema-decay": 0, "average-checkpoints": 3}
    whole, run = tmp_path / "whole", tmp_path / "run"
    finish(trainings.new(whole, **recipe))
    assert [path.name for path in checkpoints(whole)] == [f"step-{step:09d}.npz" for step in (4, 6, 8)]
    process = start(trainings.new(run, **recipe))
    wait_until(lambda: len(checkpoints(run)) == 2, process)
    limit_files(process, between_model_and_checkpoint(whole))
    err = process.communicate(timeout=250)[1].decode()
    assert process.returncode == 1
    assert "File too large" in err
    finish(trainings.resumed(run))
    assert_same(run, whole)

    with small_tiny():
        trainer = Trainer(Run(run), Recipe.from_dict(Run(run).read("recipe.json")))
    raw = []
    for path in checkpoints(run):
        checkpoint.restore(path, trainer._variables())
        raw.append([weight.numpy() for weight in trainer.model.trainable_variables])
    for found, *weights in zip(trainer.averaged.trainable_variables, *raw, strict=True):
        np.testing.assert_allclose(found, np.mean(weights, axis=0, dtype=np.float64), rtol=0, atol=1e-6)
    history = json.loads((run / "history.json").read_bytes())
    assert trainer.validation.scores()["loss"] == pytest.approx(history[-1]["loss"], rel=1e-4)
    assert history[-1]["loss"] != history[-2]["loss"]


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "recipe",
    [{}, {"gradient-accumulation-steps": 2}, {"ema-decay": 0, "average-checkpoints": 3}],
    ids=["", "accumulate", "last"],
)
def test_killed_five_times_at_random_it_ends_the_same(
    trainings: Trainings, tmp_path: Path, recipe: dict[str, int]
) -> None:
    chance = random.Random(len(recipe))
    began = time.monotonic()
    finish(trainings.new(tmp_path / "whole", **recipe))
    took = time.monotonic() - began
    run, kills, command = tmp_path / "run", 0, trainings.new(tmp_path / "run", **recipe)
    while kills < 5:
        if chance.random() < 0.3:  # a moment that chance would seldom find
            killed, _ = stop_when(lambda run=run: being_written(run), command, signal.SIGKILL)
        else:
            moment = time.monotonic() + chance.uniform(0, took)
            killed, _ = stop_when(lambda moment=moment: time.monotonic() > moment, command, signal.SIGKILL)
        assert killed in (0, -signal.SIGKILL)
        kills += killed == -signal.SIGKILL
        if (run / "run.json").exists():
            command = trainings.resumed(run)
        if killed == 0:  # it was done before its time: once more from the beginning
            assert_same(run, tmp_path / "whole")
            run, command = (
                tmp_path / f"run-{kills}",
                trainings.new(tmp_path / f"run-{kills}", **recipe),
            )
    finish(command)
    assert_same(run, tmp_path / "whole")
