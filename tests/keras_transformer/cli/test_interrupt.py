"""Ctrl-C ends a verb with a word and status 130, at whatever moment it comes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import fork_server

WHEN_A_MODULE_IS_LOOKED_FOR = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
"""

WHEN_WEIGHTS_ARE_READ = """
import os, signal, zipfile
from keras_transformer.__main__ import command

open_member = zipfile.ZipFile.open

class Dropped:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(100):
            pass

def interrupting(archive, name, *others, **more):
    if name == "model.weights.h5":
        zipfile.ZipFile.open = open_member  # once: Keras reads again
        {}
    return open_member(archive, name, *others, **more)

zipfile.ZipFile.open = interrupting
command()
"""


def interrupted_at_start(tmp_path: Path, when: str) -> str:
    """What `train --help` says last, having got a SIGINT from itself at a certain moment."""
    (tmp_path / "sitecustomize.py").write_text(when)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "keras_transformer", "train", "--help"]
    return interrupted(
        subprocess.run(command, env=environment, capture_output=True, timeout=240, check=False)
    )


def interrupted(done: "subprocess.CompletedProcess[bytes]") -> str:
    err = done.stderr.decode()
    assert "Traceback" not in err
    assert done.returncode == 130
    assert done.stdout == b""
    return err


@pytest.mark.parametrize("module", ["keras_transformer.cli.train", "keras_transformer.training.recipe"])
def test_while_a_verb_is_loaded_too(module: str, tmp_path: Path) -> None:
    err = interrupted_at_start(tmp_path, WHEN_A_MODULE_IS_LOOKED_FOR.format(module))
    assert err == "keras-transformer train: interrupted\n"


@pytest.mark.parametrize("module", ["keras_transformer.cli", "argparse"])
def test_from_our_first_line_on(module: str, tmp_path: Path) -> None:
    err = interrupted_at_start(tmp_path, WHEN_A_MODULE_IS_LOOKED_FOR.format(module))
    assert err == "keras-transformer: interrupted\n"


VERBS: dict[str, list[str]] = {
    "translate": [],
    "evaluate": ["--source", "{lines}", "--reference", "{reference}"],
    "attention": ["Merci.", "--output", "{page}"],
    "export": ["--output", "{version}", "--golden", "{lines}", "--format", "onnx"],
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("where", ["os.kill(os.getpid(), signal.SIGINT)", "Dropped()"])
def test_while_keras_reads_a_model_and_swallows_it(verb: str, where: str, run: Path, tmp_path: Path) -> None:
    """Keras catches everything there and reads in another way; what a finaliser raises Python only prints."""
    names = {"lines": "a.txt", "reference": "b.txt", "page": "heads.html", "version": "models/fr-en/1"}
    paths = {name: tmp_path / file for name, file in names.items()}
    paths["lines"].write_text("Merci.\n")
    paths["reference"].write_text("Thanks.\n")
    before = sorted(run.iterdir())
    options = [option.format(**paths) for option in VERBS[verb]]
    command = [sys.executable, "-c", WHEN_WEIGHTS_ARE_READ.format(where), verb, str(run), *options]
    done = fork_server.run(command, capture_output=True, input=b"Merci.\n", timeout=240)
    assert interrupted(done) == f"keras-transformer {verb}: interrupted\n"
    assert sorted(run.iterdir()) == before
    assert not paths["page"].exists() and not paths["version"].exists()


def test_while_tensorflow_is_loaded(run: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "keras_transformer", "translate", str(run)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr
    assert process.stderr.readline() == b"Loading Keras and TensorFlow ...\n"
    libraries = Path(f"/proc/{process.pid}/maps")
    while "libtensorflow" not in libraries.read_text():  # until it is in the midst of the import
        time.sleep(0.001)  # between two looks
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=60)[1].decode()
    assert err.endswith("keras-transformer translate: interrupted\n")
    assert "Traceback" not in err
    assert process.returncode == 130


FED = """
from itertools import repeat
import tensorflow as tf
from keras_transformer import cli
from keras_transformer.cli import train

kept = []

def fed(*_):
    for _ in range(4):
        dataset = tf.data.Dataset.from_generator(lambda: repeat(0), tf.int32).prefetch(10**6)
        kept.append(iter(dataset))
        next(kept[-1])
    raise KeyboardInterrupt

train.run = fed
cli.command()
"""


def test_while_batches_are_made_by_a_thread_of_tensorflow() -> None:
    """Where the interpreter is taken down meanwhile, the process hangs, or ends with a signal."""
    command = [sys.executable, "-c", FED, "train", "--run", "run"]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert done.stderr.decode().endswith("keras-transformer train: interrupted\n")
    assert done.returncode == 130
