"""The engine of several machines: actors of Ray Data.

Ray cuts the files in tasks of their own, and holds a few shards in its memory while the actors translate.
It starts an actor again that has ended, gives its shard to another, and cuts a file again if a machine with
shards is lost. The directories of the corpus and of the output are the same on every machine.
"""

import logging
import os
import pickle
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from keras_transformer.bulk import BulkError
from keras_transformer.bulk.corpus_files import Input
from keras_transformer.bulk.shards import Done, Failed, Shard, count_attempt
from keras_transformer.bulk.worker import EXPECTED, Task, Worker
from keras_transformer.cores import ONE_CORE

if TYPE_CHECKING:
    from keras_transformer.bulk.corpus_job import Job

OBJECT_STORE = 256 << 20  # bytes of a Ray of our own: a few shards
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # otherwise Ray warns of a default that will change
}

Batch = dict[str, Any]


def translated(job: "Job", workers: int) -> Generator[Done | Failed]:
    """Translate the unfinished files of a job with so many actors.

    Args:
        job: The job.
        workers: Number of actors, each of which uses one core.

    Yields:
        What has become of each shard, in the order in which they are finished.

    Raises:
        BulkError: Ray cannot go on.
    """
    os.environ.update(QUIET)
    import ray  # noqa: PLC0415 (in the extra `scale`)
    from ray.data import ActorPoolStrategy, DataContext, from_items  # noqa: PLC0415

    with _ray(workers):
        context = DataContext.get_current()
        context.enable_progress_bars = context.print_on_execution_start = False
        context.target_max_block_size = 1  # a shard is a block: each is given to an actor by itself
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        rows = [_row(source) for source in job.unfinished()]
        cutters = min(len(rows), workers)
        files = from_items(rows, override_num_blocks=len(rows))
        shards = files.map_batches(partial(_cut, job), batch_size=1, num_cpus=0, concurrency=cutters)
        results = shards.map_batches(
            _Actor,
            fn_constructor_args=[job.task],
            batch_size=1,
            num_cpus=1,
            compute=ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=2),
        )
        try:
            for batch in results.iter_batches(batch_size=None, prefetch_batches=0):
                yield from map(pickle.loads, batch["item"])
        except ray.exceptions.RayError as error:
            raise BulkError(f"Ray cannot go on: {error}") from error


@contextmanager
def _ray(workers: int) -> Iterator[None]:
    """Connect to the cluster of RAY_ADDRESS, or start a Ray of our own on this machine."""
    import ray  # noqa: PLC0415

    own: dict[str, Any] = {
        "num_cpus": workers,
        "object_store_memory": OBJECT_STORE,
        "include_dashboard": False,
    }
    address = os.environ.get("RAY_ADDRESS")
    try:
        ray.init(
            address or "local", **{} if address else own, log_to_driver=False, logging_level=logging.ERROR
        )
    except Exception as error:  # a ConnectionError, a RuntimeError, or no kind of its own
        raise BulkError(f"Ray cannot be reached or started: {error} Repeat the command.") from error
    try:
        yield
    finally:
        ray.shutdown()


def _cut(job: "Job", batch: Batch) -> Iterator[Batch]:
    """Yield the shards of a file. What comes out waits for an actor, and this function with it."""
    try:
        for source in map(pickle.loads, batch["item"]):
            yield from map(_batch, job.cut(source))
    except EXPECTED as error:
        yield _batch(Failed(str(error)))


class _Actor:
    """A worker in an actor.

    Ray does not bound how often a shard is given out again (its arguments for that are deprecated), so
    attempts are counted on the disk.
    """

    def __init__(self, task: Task) -> None:
        os.environ.update(ONE_CORE)
        self._worker = Worker(task)

    def __call__(self, batch: Batch) -> Batch:
        (item,) = map(pickle.loads, batch["item"])
        if not isinstance(item, Shard):
            return _batch(item)
        try:
            count_attempt(item)
        except EXPECTED as error:
            return _batch(Failed(str(error)))
        return _batch(self._worker(item))


def _row(item: Input) -> dict[str, bytes]:
    return {"item": pickle.dumps(item)}


def _batch(item: Shard | Done | Failed) -> Batch:
    return {"item": [pickle.dumps(item)]}
