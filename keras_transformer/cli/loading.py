"""How a verb loads what takes seconds and writes logs of its own: Keras and TensorFlow."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


def load(module: str) -> Any:
    """Import a module that needs Keras, and say so if that takes seconds."""
    if "keras" not in sys.modules:
        print("Loading Keras and TensorFlow ...", file=sys.stderr, flush=True)
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        with native_logs_held_back():
            import_module("keras")
    return import_module(module)


@contextmanager
def native_logs_held_back() -> Iterator[None]:
    """Keep what TensorFlow's own logging writes to stderr, and show it only if the import fails.

    It starts to obey TF_CPP_MIN_LOG_LEVEL too late: while it loads, it has already reported on GPUs and
    rounding.
    """
    sys.stderr.flush()
    with tempfile.TemporaryFile() as log, os.fdopen(os.dup(2), "wb") as stderr:
        os.dup2(log.fileno(), 2)
        try:
            yield
        except BaseException:
            log.seek(0)
            stderr.write(log.read())
            raise
        finally:
            os.dup2(stderr.fileno(), 2)
