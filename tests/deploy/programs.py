"""Programs that run beside a test: ports that were free, and waiting until they are there."""

import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

Wait = Callable[[Callable[[], bool]], None]


@contextmanager
def running(command: Sequence[str], directory: Path, log: Path) -> Iterator[Wait]:
    """Ended afterwards. -> what waits for something of it, as long as it runs, and a minute at most."""
    with log.open("wb") as out, subprocess.Popen(command, cwd=directory, stdout=out, stderr=out) as process:

        def wait(condition: Callable[[], bool]) -> None:
            until = time.monotonic() + 60
            while not condition():
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < until, log.read_text()
                time.sleep(0.05)

        try:
            yield wait
        finally:
            process.terminate()


def free() -> int:
    """A port that was, a moment ago."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
