"""What `export.isolated` takes for `subprocess`: the processes of a certificate's runtimes are forks."""

import subprocess
from subprocess import CompletedProcess, TimeoutExpired
from typing import Any

from tests.support import fork_server

__all__ = ["TimeoutExpired", "run"]


def run(command: list[str], *, input: bytes, **options: Any) -> "CompletedProcess[Any]":  # noqa: A002 (as there)
    """Fork, except for text.onnx: its operators crash where TensorFlow Text is loaded, as it is in forks."""
    chosen = subprocess if b'"onnx/text"' in input else fork_server
    return chosen.run(command, input=input, **options)
