"""The engine of one machine: a pool of processes, each with a model.

A worker that ends is replaced, and its shard is given to the next one. A worker ends by itself when the
command does, however that ends: its connection is closed then.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from multiprocessing.connection import Connection, Pipe, wait
from typing import Self

from keras_transformer.bulk.shards import Done, Failed, Shard, count_attempt
from keras_transformer.bulk.worker import Task, Worker
from keras_transformer.cores import ONE_CORE


def translated(task: Task, shards: Iterator[Shard | Done], workers: int) -> Generator[Done | Failed]:
    """Translate shards with so many processes.

    Args:
        task: What every worker has to know.
        shards: The shards, which are cut while others are translated; `Done` is passed on.
        workers: Number of processes, each of which uses one core.

    Yields:
        What has become of each shard, in the order in which they are finished.

    Raises:
        BulkError: Several workers have ended in the middle of a shard.
    """
    with ExitStack() as pool:
        idle = [pool.enter_context(_Process(task)) for _ in range(workers)]
        busy: dict[Connection, _Process] = {}
        given_up: list[Shard] = []
        while True:
            while idle and (shard := given_up.pop() if given_up else next(shards, None)):
                if isinstance(shard, Done):
                    yield shard
                    continue
                process = idle.pop()
                count_attempt(shard)
                process.begin(shard)
                busy[process.connection] = process
            if not busy:
                return
            ready = wait(busy)
            for connection in [connection for connection in busy if connection in ready]:
                process = busy.pop(connection)
                result = process.result()
                if isinstance(result, Shard):
                    given_up.append(result)
                    process = pool.enter_context(_Process(task))
                else:
                    yield result
                idle.append(process)


class _Process:
    """A worker in a process of its own, and the end of its connection."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def __enter__(self) -> Self:
        self.connection, other = Pipe()
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(other.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**os.environ, **ONE_CORE},
                pass_fds=[other.fileno()],
                start_new_session=True,  # a Ctrl-C is for the command, which ends this process
            )
        self._first: tuple[Task, ...] = (self._task,)
        return self

    def begin(self, shard: Shard) -> None:
        """Give it a shard. If the process has ended, `result` finds that out."""
        self._shard = shard
        try:
            for message in (*self._first, shard):
                self.connection.send(message)
        except OSError:
            self._process.kill()
        self._first = ()

    def result(self) -> Done | Failed | Shard:
        """Return what has become of the shard; the shard itself, if the process has ended."""
        try:
            result: Done | Failed = self.connection.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            return self._shard
        return result

    def __exit__(self, *_: object) -> None:
        self.connection.close()
        self._process.kill()
        self._process.wait()


def serve(connection: Connection) -> None:
    """Translate the shards that arrive, until the connection is closed."""
    try:
        worker = Worker(connection.recv())
        while True:
            connection.send(worker(connection.recv()))
    except (EOFError, OSError):  # the command has ended
        return


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
