"""Programs that run beside a test: ports that were free, and waiting until they are there."""

import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Running:
    """A process that runs, and its log."""

    process: "subprocess.Popen[bytes]"
    log: Path

    def wait(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition holds: a minute at most, and as long as the program runs."""
        until = time.monotonic() + 60
        while not condition():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < until, self.log.read_text()
            time.sleep(0.05)

    @property
    def highest_megabytes(self) -> float:
        """The most memory that was resident at one time."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        (line,) = (each for each in lines if each.startswith("VmHWM:"))
        return int(line.split()[1]) / 2**10


@contextmanager
def running(command: Sequence[str], directory: Path, log: Path) -> Iterator[Running]:
    """Start a program; it is ended afterwards."""
    with log.open("wb") as out, subprocess.Popen(command, cwd=directory, stdout=out, stderr=out) as process:
        try:
            yield Running(process, log)
        finally:
            process.terminate()


def free() -> int:
    """A port that was, a moment ago."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
