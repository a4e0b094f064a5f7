"""Ray Train as the launcher of the workers: it begins again from the checkpoint when one of them fails."""

import logging
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

POLL_SECONDS = 0.1
SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_TRAIN_ENABLE_PRINT_PATCH": "0",  # otherwise each line of a worker comes twice
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # otherwise Ray warns of a default that will change
}


class Launch(NamedTuple):
    """What Ray starts.

    Args:
        train: Trains in this process as the words of the command say, and returns the exit status.
        run: The run directory, on a disk that all machines share.
        options: The words of `train` that begin the run, or continue it.
        resumed: The words that continue it after a failure.
        has_begun: Returns whether the run that these words mean is in the run directory.
        workers: Number of workers.
        max_failures: How often all of them begin again.
    """

    train: Callable[[Sequence[str]], int]
    run: Path
    options: Sequence[str]
    resumed: Sequence[str]
    has_begun: Callable[[], bool]
    workers: int
    max_failures: int

    def words(self, attempt: int) -> Sequence[str]:
        """Return the words of an attempt: a later one continues the run, if an earlier one has begun it."""
        return self.resumed if attempt and self.has_begun() else self.options


class LaunchError(RuntimeError):
    """Error of a training that failed more often than allowed."""


def launch(launched: Launch) -> None:
    """Train with workers that Ray places, a core or more each, and supervises.

    RAY_ADDRESS names a Ray cluster. Without it Ray starts on this machine.

    Raises:
        LaunchError: The workers failed more often than allowed.
    """
    os.environ |= SETTINGS  # read when Ray is imported
    import ray  # noqa: PLC0415
    from ray.train import FailureConfig, RunConfig, ScalingConfig  # noqa: PLC0415
    from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer  # noqa: PLC0415

    local = "RAY_ADDRESS" not in os.environ
    if local:
        cores = max(launched.workers, os.cpu_count() or 1)
        ray.init("local", num_cpus=cores, include_dashboard=False, logging_level="WARNING")
    else:
        ray.init(logging_level="WARNING")
    launched.run.parent.mkdir(parents=True, exist_ok=True)
    # Ray's own notes, which all machines have to see; the training keeps its checkpoints in the run
    notes = Path(tempfile.mkdtemp(prefix=f".{launched.run.name}-ray-", dir=launched.run.parent.resolve()))
    meeting = ray.remote(num_cpus=0)(Meeting).remote()
    try:
        DataParallelTrainer(
            _work,
            train_loop_config={
                "launch": launched,
                "meeting": meeting,
                "host": "127.0.0.1" if local else None,
                "directory": str(Path.cwd()),
            },
            scaling_config=ScalingConfig(
                num_workers=launched.workers, resources_per_worker={"CPU": 1}, placement_strategy="SPREAD"
            ),
            run_config=RunConfig(
                storage_path=str(notes),
                name="run",
                failure_config=FailureConfig(max_failures=launched.max_failures),
            ),
        ).fit()
    except ray.train.TrainingFailedError as error:
        raise LaunchError(
            f"the workers failed {launched.max_failures + 1} times; the lines above say why. Solve that, "
            "then continue with --resume."
        ) from error
    finally:
        ray.shutdown()
        shutil.rmtree(notes, ignore_errors=True)


class Meeting:
    """Actor that knows the addresses of the workers of each attempt."""

    def __init__(self) -> None:
        self._attempts: list[dict[int, str]] = []

    def begin(self) -> int:
        """Begin an attempt, and return its number."""
        self._attempts.append({})
        return len(self._attempts) - 1

    def come(self, attempt: int, rank: int, address: str) -> dict[int, str]:
        """Add a worker, and return the addresses that are known."""
        self._attempts[attempt][rank] = address
        return self._attempts[attempt]


def _work(config: dict[str, Any]) -> None:
    """Train as one of the workers, in a process of Ray."""
    import ray  # noqa: PLC0415
    from ray.train import get_context  # noqa: PLC0415
    from ray.train.collective import broadcast_from_rank_zero  # noqa: PLC0415

    launched, meeting = config["launch"], config["meeting"]
    rank = get_context().get_world_rank()
    attempt = broadcast_from_rank_zero(ray.get(meeting.begin.remote()) if rank == 0 else None)
    with socket.create_server(("", 0)) as free:
        address = f"{config['host'] or ray.util.get_node_ip_address()}:{free.getsockname()[1]}"
    addresses: dict[int, str] = {}
    while len(addresses) < launched.workers:
        addresses = ray.get(meeting.come.remote(attempt, rank, address))
        time.sleep(POLL_SECONDS)
    os.chdir(config["directory"])
    logging.getLogger("tensorflow").setLevel(logging.WARNING)  # Ray shows what is logged below
    words = broadcast_from_rank_zero(launched.words(attempt) if rank == 0 else None)
    cluster = ",".join(addresses[index] for index in range(launched.workers))
    status = launched.train([*words, "--cluster", cluster, "--rank", str(rank)])
    if status:
        raise RuntimeError(f"worker {rank} ended with status {status}")
