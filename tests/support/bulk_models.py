"""Models for the tests of shards, which open at once."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from keras_transformer.bulk.formats import Translate


def open_upper(*_: object) -> Translate:
    """Open a model that answers in capitals."""
    return upper


def upper(texts: list[str]) -> list[str]:
    return [text.upper() for text in texts]


def open_environment() -> Translate:
    """Open a model that answers a name with its value in the environment."""
    return lambda names: [os.environ.get(name, "") for name in names]


def open_ending() -> Translate:
    """Open a model that ends its process at a line that asks for it."""
    return ending


def ending(texts: list[str]) -> list[str]:
    if "end" in texts:
        os.kill(os.getpid(), signal.SIGKILL)
    return upper(texts)


@dataclass(frozen=True)
class Waiting:
    """Model that waits at a line "wait" as long as the other end of a pipe is open, then does as another."""

    pipe: Path
    open_model: Callable[..., Translate] = open_upper

    def __call__(self, *arguments: object) -> Translate:
        translate = self.open_model(*arguments)

        def waiting(texts: list[str]) -> list[str]:
            if "wait" in texts:
                self.pipe.with_suffix(".process").write_text(str(os.getpid()))
                self.pipe.read_bytes()
            return translate(texts)

        return waiting

    @contextmanager
    def reached(self) -> Iterator[int]:
        """Wait until a worker is in the middle of that shard; yield its process. Later ones go on."""
        held = None
        while held is None:
            try:
                held = os.open(self.pipe, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:  # no reader yet
                os.sched_yield()
        self.pipe.unlink()
        self.pipe.touch()
        try:
            yield int(self.pipe.with_suffix(".process").read_text())
        finally:
            os.close(held)
