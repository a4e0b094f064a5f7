"""A server, or its callers, as benchmarks/serving.py sees them: a process that answers lines of JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from sides import ONE_THREAD

HERE = Path(__file__).parent
CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, CALLERS_CORE = CORES[0], CORES[-1]


class Process:
    """Pinned to a core."""

    def __init__(self, script: str, core: int, *arguments: object) -> None:
        command = [sys.executable, str(HERE / script), *map(str, arguments), "--core", str(core)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, env={**os.environ, **ONE_THREAD}, stdin=pipe, stdout=pipe, text=True
        )

    def ask(self, line: str) -> Any:
        """What it says to that."""
        if self._process.stdin is None:
            raise RuntimeError("it has no input")
        print(line, file=self._process.stdin, flush=True)
        return self.heard()

    def heard(self) -> Any:
        """The next thing it says."""
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            raise SystemExit(f"the process of {self._process.args!r} ended: see its error above.")
        return json.loads(line)

    @property
    def seconds(self) -> float:
        """Of the processor, so far."""
        return seconds(self._process.pid)

    @property
    def megabytes(self) -> float:
        """That it holds."""
        return megabytes(self._process.pid)

    def close(self) -> None:
        """It is gone, however it was."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Callers(Process):
    """All that load a server come from one process."""

    def __init__(self, directory: Path, script: str = "load.py") -> None:
        super().__init__(script, CALLERS_CORE, directory)
        self.heard()

    def do(self, task: str, port: int, **options: Any) -> Any:
        """What came of it, with the server at that port."""
        return self.ask(json.dumps({"task": task, "port": port, **options}))


class Side(Process):
    """One of the servers compared."""

    def __init__(self, name: str, directory: Path, rows: int, *arguments: object) -> None:
        super().__init__("server.py", SERVER_CORE, name, directory, "--rows", rows, *arguments)
        self.name = name
        self.rows = rows
        self.port, self.bare_port = self.heard()

    def direct(self, count: int) -> float:
        """The median seconds of a text in its engine, one at a time."""
        return float(self.ask(f"direct {count}"))


def seconds(pid: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def megabytes(pid: int) -> float:
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
