"""ONNX Runtime sessions on the processor, without telemetry.

The library's wheels report their use to its maker over the network, with a number that identifies the
machine. The variable that prevents it must be set before the library is imported; set it to 0 to allow the
reports.
"""

import os
from pathlib import Path
from typing import Any

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime

__all__ = ["onnxruntime", "open_session", "session_options"]


def open_session(graph: Path | bytes, threads: int = 1, **config: str) -> Any:
    """Create a session that runs a graph on the processor.

    Args:
        graph: An .onnx file, or its content.
        threads: Number of threads of one matrix product.
        config: Other entries of the session's configuration; `__` in a name stands for a dot.
    """
    options = session_options(threads)
    for name, value in config.items():
        options.add_session_config_entry(name.replace("__", "."), value)
    return onnxruntime.InferenceSession(
        graph, options, providers=["CPUExecutionProvider"], disabled_optimizers=["SkipLayerNormFusion"]
    )


def session_options(threads: int = 1) -> Any:
    """Return the options that all sessions have in common."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors
    # a thread that spins while it waits takes a core from threads that work
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options
