"""Loading of Keras and TensorFlow, which takes seconds and writes logs."""

import gc
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from keras_transformer.interrupts import interruptible


def load(module: str) -> Any:
    """Import a module that needs Keras, with a notice if Keras is not loaded yet."""
    with interruptible():
        _load_keras()
        return import_module(module)


def _load_keras() -> None:
    if "keras" not in sys.modules:
        print("Loading Keras and TensorFlow ...", file=sys.stderr, flush=True)
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        os.environ["KERAS_BACKEND"] = "tensorflow"  # only the layers run on other backends, not the commands
        with native_logs_held_back(), no_garbage_collected():
            import_module("keras")


@contextmanager
def native_logs_held_back() -> Iterator[None]:
    """Hold back what TensorFlow's native code logs to stderr, and print it only if the import fails.

    TF_CPP_MIN_LOG_LEVEL is not enough: TensorFlow logs about GPUs and rounding before it applies the level.
    """
    sys.stderr.flush()
    with tempfile.TemporaryFile() as log, os.fdopen(os.dup(2), "wb") as stderr:
        os.dup2(log.fileno(), 2)
        try:
            yield
        except Exception:
            log.seek(0)
            stderr.write(log.read())
            raise
        finally:
            os.dup2(stderr.fileno(), 2)


@contextmanager
def no_garbage_collected() -> Iterator[None]:
    """Switch off garbage collection inside the block, and later exempt all objects that exist at its end.

    Modules are never freed, so searching them for garbage is in vain. This saves 1.4 s of the 4.5 s of
    processor time that `translate` takes for one line. Much of that is saved at the exit.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
