"""Processes of the train command that train together on loopback, and the comparison of their runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.ports import free_ports
from tests.support.trainings import checkpoints, start


class Together:
    """Processes that train together."""

    def __init__(self, *commands: list[str], timeout: int = 60, **options: Any) -> None:
        addresses = [f"127.0.0.1:{port}" for port in free_ports(len(commands))]
        self.names = [f"worker {rank} ({address})" for rank, address in enumerate(addresses)]
        self.processes = [
            start(
                [
                    *command,
                    "--cluster",
                    ",".join(addresses),
                    "--rank",
                    str(rank),
                    "--join-timeout",
                    str(timeout),
                ],
                **options,
            )
            for rank, command in enumerate(commands)
        ]

    def ended(self, seconds: float = 120) -> list[tuple[int, str]]:
        """The exit status and the last line of stderr of each."""
        ends = []
        for process in self.processes:
            _, err = process.communicate(timeout=seconds)
            ends.append((process.returncode, (err.decode().splitlines() or [""])[-1]))
        return ends


@contextmanager
def together(*commands: list[str], **options: Any) -> Iterator[Together]:
    started = Together(*commands, **options)
    try:
        yield started
    finally:
        for process in started.processes:
            process.kill()
            process.communicate()


def finish_together(*commands: list[str], **options: Any) -> None:
    with together(*commands, **options) as workers:
        ends = workers.ended(280)
        assert [status for status, _ in ends] == [0] * len(commands), ends


def state(run: Path) -> list[dict[str, Any]]:
    """The checkpoints, without the number of batches that the optimizer has counted."""
    states = []
    for path in checkpoints(run):
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files if name != "progress"}
        step = int(path.stem.removeprefix("step-"))
        states.append(
            {
                name: array
                for name, array in arrays.items()
                if array.shape or array % step  # the count: one number, a multiple of the steps
            }
        )
    assert all(len(arrays) > 100 for arrays in states)
    return states


def assert_same_bits(run: Path, other: Path) -> None:
    ours, theirs = state(run), state(other)
    assert len(ours) == len(theirs) == 2
    for one, two in zip(ours, theirs, strict=True):
        assert one.keys() == two.keys()
        assert [name for name in one if one[name].tobytes() != two[name].tobytes()] == []
