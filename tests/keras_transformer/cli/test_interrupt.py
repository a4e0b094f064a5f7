"""Ctrl-C ends a verb with a word and status 130, at whatever moment it comes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


@pytest.mark.parametrize("module", ["keras_transformer.cli.train", "keras_transformer.training.recipe"])
def test_while_a_verb_is_loaded_too(module: str, tmp_path: Path) -> None:
    """The interrupt comes from the process itself, when it looks for that module."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "keras_transformer", "train", "--help"]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=60, check=False)
    assert done.stderr.decode() == "keras-transformer train: interrupted\n"
    assert done.returncode == 130


def test_while_tensorflow_is_loaded(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "keras_transformer", "translate", str(tmp_path)],
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

kept = []

def fed(*_):
    for _ in range(4):
        dataset = tf.data.Dataset.from_generator(lambda: repeat(0), tf.int32).prefetch(10**6)
        kept.append(iter(dataset))
        next(kept[-1])
    raise KeyboardInterrupt

cli._call = fed
cli.command()
"""


def test_while_batches_are_made_by_a_thread_of_tensorflow() -> None:
    """Where the interpreter is taken down meanwhile, the process hangs, or ends with a signal."""
    command = [sys.executable, "-c", FED, "train"]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert done.stderr.decode().endswith("keras-transformer train: interrupted\n")
    assert done.returncode == 130
