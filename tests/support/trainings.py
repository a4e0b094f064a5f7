"""The train command in processes of its own, on a small corpus, and the comparison of two runs to the bit."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer import TranslationModel
from keras_transformer.cores import ONE_CORE
from keras_transformer.text.corpus import Pair
from tests.support import fork_server
from tests.support.paths import ROOT

RECIPE = {
    "steps": 8, "warmup-steps": 3, "validate-every": 2, "batch-tokens": 512, "max-tokens": 64,
    "vocabulary-size": 400, "precision": "float32", "seed": 3, "ema-decay": 0.5,
}  # fmt: skip


class Trainings:
    """The train command, on a corpus of 300 pairs."""

    def __init__(self, directory: Path, pairs: Iterable[Pair]) -> None:
        self.corpus = (directory / "a.fr", directory / "a.en")
        for path, side in zip(self.corpus, zip(*pairs, strict=True), strict=True):
            path.write_text("".join(f"{text}\n" for text in side), "utf-8")

    def new(self, run: Path, **recipe: Any) -> list[str]:
        source, target = map(str, self.corpus)
        options = {**RECIPE, **recipe}.items()
        words = [word for name, value in options for word in (f"--{name.replace('_', '-')}", str(value))]
        languages = ["--source-lang", "fr", "--target-lang", "en"]
        return ["--run", str(run), "--source", source, "--target", target, *languages, *words]

    @staticmethod
    def resumed(run: Path) -> list[str]:
        return ["--run", str(run), "--resume"]


def start(
    arguments: list[str],
    process: type["subprocess.Popen[bytes]"] = fork_server.Popen,
    program: str = "tests.support.small_training",
) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", program, "train", *arguments]
    return process(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **ONE_CORE}
    )


def wait_until(condition: Callable[[], Any], process: subprocess.Popen[bytes]) -> None:
    """Or until it has ended."""
    deadline = time.monotonic() + 250
    while not condition() and process.poll() is None:
        if time.monotonic() > deadline:
            raise TimeoutError("neither has it come about, nor has the process ended")
        time.sleep(0.001)  # between two looks


def finish(
    arguments: list[str], kind: type["subprocess.Popen[bytes]"] = fork_server.Popen
) -> tuple[str, str]:
    process = start(arguments, kind)
    out, err = process.communicate(timeout=250)
    assert process.returncode == 0, err.decode()
    return out.decode(), err.decode()


def checkpoints(run: Path) -> list[Path]:
    return sorted((run / "checkpoints").glob("step-*.npz"))


def assert_same(run: Path, other: Path) -> None:
    """The last states, the scores and the best models, to the bit."""
    ours, theirs = checkpoints(run), checkpoints(other)
    assert [path.name for path in ours] == [path.name for path in theirs]
    for one, two in zip(ours, theirs, strict=True):
        with np.load(one) as a, np.load(two) as b:
            assert sorted(a.files) == sorted(b.files)
            assert len(a.files) > 100
            for name in a.files:
                assert a[name].tobytes() == b[name].tobytes(), name
    for name in ("history.json", "recipe.json", "cleaning.json", "valid.jsonl"):
        assert (run / name).read_bytes() == (other / name).read_bytes(), name
    model, same = (TranslationModel.load(path) for path in (run, other))
    for a, b in zip(model.get_weights(), same.get_weights(), strict=True):
        assert a.tobytes() == b.tobytes()
