"""Those compared, each in a process of its own that answers a line with a line.

Libraries that bring threads and memory of their own do not meet, and none finds the caches warm for another.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import measure

from keras_transformer.cores import ONE_CORE

TURN = 0.2  # seconds: as many calls as take that, since the first finds the caches full of another's weights
ONE_THREAD = {**ONE_CORE, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}


class Side:
    """One of those compared, as the script that asks sees it."""

    def __init__(self, name: str, scratch: str, arguments: list[str]) -> None:
        """Starts the same script with --serve NAME --scratch DIR behind its arguments."""
        command = [sys.executable, sys.argv[0], *arguments, "--serve", name, "--scratch", scratch]
        self.process = subprocess.Popen(
            command,
            env={**os.environ, **ONE_THREAD},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def prepare(self, task: str) -> int:
        """-> target tokens of one call; compiled and warm."""
        return int(self._ask(task))

    def seconds(self) -> float:
        """Of a call, over a turn of them."""
        return float(self._ask("go"))

    def _ask(self, line: str) -> str:
        assert self.process.stdin and self.process.stdout  # noqa: S101
        print(line, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"the process of {self.process.args!r} ended: see its error above.")
        return answer

    def close(self) -> None:
        """The process ends when nothing more can come."""
        assert self.process.stdin  # noqa: S101
        self.process.stdin.close()
        self.process.wait()


def take_turns(
    sides: Mapping[str, Side], task: str, repeats: int
) -> tuple[dict[str, int], dict[str, list[float]]]:
    """-> of each side the target tokens of a call, and the seconds of one in each of its turns."""
    tokens = {name: side.prepare(task) for name, side in sides.items()}
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, side in sides.items():
            seconds[name].append(side.seconds())
    return tokens, seconds


def speeds(task: str, tokens: Mapping[str, int], seconds: Mapping[str, list[float]]) -> dict[str, Any]:
    """The figures of a task, which are printed as well."""
    figures = {}
    for name, each in seconds.items():
        figures[f"{name} {task}"] = {
            "ms": measure.summary(each),
            "tokens per second": round(tokens[name] / statistics.median(each)),
        }
        print(f"{task} {name}: {figures[f'{name} {task}']}", flush=True)
    return figures


def serve(make: Callable[[str], tuple[Callable[[], Any], int]], warm_up: int = 3, turn: float = TURN) -> None:
    """Answer the parent: `make` prepares a task, giving a call and the tokens of it; `go` is timed."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer
    call: Callable[[], Any] = lambda: None  # noqa: E731
    for line in sys.stdin:
        if line.strip() == "go":
            calls, start = 0, time.perf_counter()
            while not calls or time.perf_counter() - start < turn:
                call()
                calls += 1
            print((time.perf_counter() - start) / calls, file=answers, flush=True)
        else:
            call, tokens = make(line.strip())
            for _ in range(warm_up):
                call()
            print(tokens, file=answers, flush=True)
