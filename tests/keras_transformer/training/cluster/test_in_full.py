"""Every count in full: many steps, every moment of a failure, other numbers of workers, Ray, the tutorial."""

import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.text.corpus import Pair
from keras_transformer.training import trainer as trainer_module
from keras_transformer.training.data.dataset import shifted
from keras_transformer.training.recipe import Recipe
from keras_transformer.training.runs.run_directory import Run
from tests.support.paths import ROOT
from tests.support.ports import free_ports
from tests.support.small_training import ACTIVATION, small_tiny
from tests.support.together import assert_same_bits, finish_together, together
from tests.support.trainings import Trainings, checkpoints, finish, start, wait_until

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]

STEPS = {"steps": 50, "warmup_steps": 10, "validate_every": 10, "both_ways": 0}


@pytest.fixture(scope="module")
def trainings(tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair]) -> Trainings:
    return Trainings(tmp_path_factory.mktemp("corpus"), pairs)


def weights(run: Path, recipe: Recipe) -> dict[str, Any]:
    """The trained weights of the last checkpoint, without the biases of the keys, whose gradient is zero."""
    with small_tiny():
        trained = trainer_module.Trainer(Run(run), recipe)
    trained._restore()
    found = {
        weight.path.partition("/")[2]: np.array(weight, np.float64)
        for weight in trained.model.trainable_variables
    }
    for name, values in found.items():
        width = len(values) // 3 if "query_key_value" in name else len(values) // 2
        if name.endswith("query_key_value/bias"):
            values[width : 2 * width] = 0
        elif name.endswith("key_value/bias"):
            values[:width] = 0
    return found


def checkpoint_of(run: Path, step: int) -> Path:
    return run / "checkpoints" / f"step-{step:09d}.npz"


def furthest(one: dict[str, Any], other: dict[str, Any]) -> float:
    assert one.keys() == other.keys()
    far, name = max((float(np.abs(one[name] - other[name]).max()), name) for name in one)
    print(f"{far:.1e} at {name}")
    return far


def joined(stages: Any, start_id: int, start_step: int, batches: int) -> Any:
    """A dataset whose batches are each `batches` of the plan in one piece."""
    import tensorflow as tf

    from keras_transformer.training.data.dataset import EXAMPLE

    def elements() -> Iterator[Any]:
        ((store, plan, _),) = stages
        planned = plan.batches(start_step * batches)
        while group := list(islice(planned, batches)):
            indices = np.concatenate([indices for _, indices in group])
            source, target = store.lengths()[indices].max(axis=0)
            labels = store.rows(1, indices, target)
            yield {"source": store.rows(0, indices, source), "target": shifted(labels, start_id)}, labels

    return tf.data.Dataset.from_generator(elements, output_signature=EXAMPLE)


@pytest.mark.parametrize(("workers", "batches"), [(2, 2), (2, 4), (4, 4)])
def test_workers_are_one_process_with_the_joined_batch(
    workers: int, batches: int, trainings: Trainings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a smooth activation: the slope of ReLU jumps at zero, and near it rounding decides which it is."""
    monkeypatch.setenv(ACTIVATION, "gelu")
    options = {**STEPS, "dropout": 0, "gradient_accumulation_steps": batches}
    one, many, whole = tmp_path / "one", tmp_path / "many", tmp_path / "whole"
    finish(trainings.new(one, **options))
    finish_together(*[trainings.new(many, **options)] * workers)
    if (workers, batches) == (2, 2):
        assert_same_bits(one, many)
    recipe = Recipe.from_run(Run(many).read("recipe.json"))
    found = weights(many, recipe)
    far = furthest(found, weights(one, recipe))
    print(f"{workers} workers, {batches} batches: {far:.1e} off accumulation")
    assert far <= 1e-5

    shutil.copytree(many, whole, ignore=shutil.ignore_patterns("checkpoints"))
    (whole / "recipe.json").write_text(json.dumps({**recipe.as_dict(), "gradient_accumulation_steps": 1}))
    alone = Recipe.from_run(Run(whole).read("recipe.json"))
    monkeypatch.setattr(
        trainer_module,
        "dataset",
        lambda stages, start_id, start_step, *_: joined(stages, start_id, start_step, batches),
    )
    with small_tiny():
        trainer_module.Trainer(Run(whole), alone).train()
    far = furthest(found, weights(whole, alone))
    print(f"{workers} workers, {batches} batches: {far:.1e} off the joined batch")
    assert far <= 1e-5


@pytest.mark.parametrize("batches", [2, 4])
def test_killed_at_five_moments_with_dropout_it_ends_the_same(
    batches: int, trainings: Trainings, tmp_path: Path
) -> None:
    """The workers compare their weights at each checkpoint, so a run that ends had the same bits in all."""
    options = {**STEPS, "dropout": 0.3, "gradient_accumulation_steps": batches}
    whole, run, chance = tmp_path / "whole", tmp_path / "run", random.Random(batches)
    finish_together(*[trainings.new(whole, **options)] * 2)
    commands = [trainings.new(run, **options)] * 2
    moments: list[Callable[[], Any]] = [
        (run / "corpus.jsonl").exists,
        lambda: len(checkpoints(run)) == 1,
        lambda: list((run / "checkpoints").glob(".partial*")),
        checkpoint_of(run, 30).exists,
        checkpoint_of(run, 40).exists,
    ]
    for moment in moments:
        rank = chance.randrange(2)
        with together(*commands) as workers:
            wait_until(moment, workers.processes[rank])
            workers.processes[rank].kill()
            (status, line) = workers.ended(60)[1 - rank]
            assert status == 1
            assert workers.names[rank] in line
        commands = [trainings.resumed(run) if (run / "run.json").exists() else commands[0]] * 2
    finish_together(*commands)
    assert_same_bits(whole, run)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_frozen_worker_is_named_within_a_minute(rank: int, trainings: Trainings, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with together(*[trainings.new(run, **STEPS)] * 3) as workers:
        wait_until(lambda: len(checkpoints(run)) == 1, workers.processes[rank])
        workers.processes[rank].send_signal(signal.SIGSTOP)
        for index in {0, 1, 2} - {rank}:
            _, err = workers.processes[index].communicate(timeout=60)
            assert workers.processes[index].returncode == 1
            assert workers.names[rank] in err.decode().splitlines()[-1]


def test_four_workers_resumed_as_two_and_back_end_where_four_do(trainings: Trainings, tmp_path: Path) -> None:
    options = {**STEPS, "dropout": 0}
    whole, run = tmp_path / "whole", tmp_path / "run"
    finish_together(*[trainings.new(whole, **options)] * 4)
    commands = [trainings.new(run, **options)] * 4
    for step, workers in ((20, 4), (40, 2)):
        with together(*commands) as some:
            wait_until(checkpoint_of(run, step).exists, some.processes[1])
            some.processes[1].kill()
            some.ended(60)
        commands = [trainings.resumed(run)] * (6 - workers)
    finish_together(*commands)
    recipe = Recipe.from_run(Run(run).read("recipe.json"))
    assert recipe.gradient_accumulation_steps == 4
    far = furthest(weights(whole, recipe), weights(run, recipe))
    print(f"4 workers, then 2, then 4: {far:.1e} off 4")
    assert far <= 1e-5


@contextmanager
def ended(*processes: "subprocess.Popen[bytes]") -> Iterator[Sequence["subprocess.Popen[bytes]"]]:
    """Processes of which none is left afterwards."""
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def children(process: int, name: str) -> list[int]:
    command = ["pgrep", "-P", str(process), "-f", name]
    return [int(number) for number in subprocess.run(command, capture_output=True, check=True).stdout.split()]


def test_with_ray_a_killed_worker_is_started_again_and_the_run_ends_the_same(
    trainings: Trainings, tmp_path: Path
) -> None:
    """With the real preset, which is what the processes that Ray starts know."""
    whole, run = tmp_path / "whole", tmp_path / "run"
    options = {**STEPS, "dropout": 0.3}
    finish_together(*[trainings.new(whole, **options)] * 2, program="keras_transformer")
    command = [*trainings.new(run, **options), "--engine", "ray", "--workers", "2"]
    with ended(start(command, subprocess.Popen, "keras_transformer")) as (driver,):
        wait_until(lambda: len(checkpoints(run)) == 1, driver)
        (raylet,) = children(driver.pid, "raylet")
        os.kill(children(raylet, "RayTrainWorker")[-1], signal.SIGKILL)
        out, err = driver.communicate(timeout=600)
    assert driver.returncode == 0, err.decode()
    assert b"best model:" in out
    assert_same_bits(whole, run)


def test_the_tutorial_runs_as_it_is_shown(tmp_path: Path) -> None:
    text = (ROOT / "docs/tutorials/several-machines.md").read_text("utf-8")
    commands = [
        shlex.split(line)[1:]
        for block in re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        for line in block.splitlines()
        if line.startswith("keras-transformer train")
    ]
    ports = free_ports(2)
    replaced = {"127.0.0.1:2222,127.0.0.1:2223": ",".join(f"127.0.0.1:{port}" for port in ports)}
    commands = [[replaced.get(word, word) for word in command] for command in commands]
    first, second, third, fourth, alone, ray = commands
    for together_ in ([first, second], [third, fourth], [alone], [ray]):
        processes = [
            subprocess.Popen([sys.executable, "-m", "keras_transformer", *command], cwd=tmp_path)
            for command in together_
        ]
        with ended(*processes):
            assert [process.wait(1200) for process in processes] == [0] * len(processes)
    for run in ("run", "ray"):
        history = json.loads((tmp_path / "build/several" / run / "history.json").read_text())
        assert history[-1]["step"] == 160
