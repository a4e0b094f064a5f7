"""A replica as docker-compose.yml starts it: the same command, at ports of this machine that stay its own."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.support.paths import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))


def options() -> list[str]:
    """What is said to `keras-transformer serve` there, but the address and the directory."""
    _, *said = COMPOSE["services"]["server-1"]["command"]
    at = said.index("--host")
    return [*said[:at], *said[at + 2 :]]


class Replica:
    """Started and killed many times; its ports are chosen once."""

    def __init__(self, models: Path) -> None:
        self._models = models
        self._process: subprocess.Popen[bytes] | None = None
        self.port = self.http_port = 0

    def start(self) -> None:
        """It takes requests when this returns."""
        where = ["--port", str(self.port), "--http-port", str(self.http_port)]
        command = [sys.executable, "-m", "keras_transformer", "serve", str(self._models), *options(), *where]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.port, self.http_port = (int(self._line().rpartition(":")[2]) for _ in range(2))

    def kill(self) -> None:
        """At once, with all that it has."""
        assert self._process
        self._process.kill()
        self._process.communicate()

    def leave(self) -> int:
        """As `docker compose stop` has it. -> the exit status."""
        assert self._process
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate(timeout=60)
        return self._process.returncode

    def end(self) -> None:
        if self._process and self._process.returncode is None:
            self.kill()

    def _line(self) -> str:
        assert self._process
        assert self._process.stdout
        line = self._process.stdout.readline().decode().strip()
        assert line, f"the replica ended with status {self._process.wait()}"
        return line


@contextmanager
def replicas(models: Path, number: int = 2) -> Iterator[list[Replica]]:
    """So many of them, warm; gone afterwards."""
    started = [Replica(models) for _ in range(number)]
    try:
        for each in started:
            each.start()
        yield started
    finally:
        for each in started:
            each.end()
