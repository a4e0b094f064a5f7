"""The translation of a corpus into a directory: what belongs to it, what is done, and joining of files.

The output directory has the finished files and `.bulk`, with the record of the job, a lock, and the shards of
files that are not finished.
"""

import fcntl
import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keras_transformer import __version__
from keras_transformer.bulk import BulkError
from keras_transformer.bulk.corpus_files import Input
from keras_transformer.bulk.formats import MAX_BYTES, MAX_ROWS
from keras_transformer.bulk.shards import Done, Shard, cut, remove_leftovers, shard_path
from keras_transformer.bulk.worker import Task
from keras_transformer.files import read_json, replacing, write_whole

WORK = ".bulk"
OTHERWISE = "Name another directory, or remove this one to translate everything again."


@dataclass
class Job:
    """Translation of a corpus.

    Attributes:
        inputs: The files.
        output: Directory of the translations.
        task: What every worker has to know.
        settings: Everything that decides what a translation is, by its name in messages.
    """

    inputs: Sequence[Input]
    output: Path
    task: Task
    settings: Mapping[str, Any]
    _work: Path = field(init=False)
    _shards: dict[str, Path] = field(default_factory=dict, init=False)  # directory of each file
    _translated: Counter[Path] = field(default_factory=Counter, init=False)  # shards of each file
    _ends: dict[Path, int] = field(default_factory=dict, init=False)  # the number that it has

    def __post_init__(self) -> None:
        self._work = self.output.absolute() / WORK  # the same in every worker

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Hold the output directory, which is new or has a part of this job.

        Raises:
            BulkError: Another command writes there, or it has something else.
        """
        self._work.mkdir(parents=True, exist_ok=True)
        with (self._work / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise BulkError(
                    f"another command translates into {self.output}: wait until it ends."
                ) from error
            remove_leftovers(self._work)
            self._write_record(self._work / "job.json")
            for source in self.inputs:
                if self._finished(source.name):  # a command was killed after it had joined the shards
                    self._remove_shards(source.name)
                else:
                    self._shards[source.name].mkdir(parents=True, exist_ok=True)
            yield

    def unfinished(self) -> list[Input]:
        """Return the files whose translation is not complete."""
        return [source for source in self.inputs if not self._finished(source.name)]

    def cut(self, source: Input) -> Iterator[Shard | Done]:
        """Cut a file into shards."""
        return cut(source, self._shards[source.name], self.task.format_of(source))

    def add(self, done: Done) -> Path | None:
        """Count a shard, and join the file if all of its shards are there.

        Returns:
            The joined file.
        """
        if done.count:
            self._translated[done.source] += 1
        else:
            self._ends[done.source] = done.index
        count = self._ends.get(done.source)
        return self._join(Input.of(done.source), count) if count == self._translated[done.source] else None

    def _join(self, source: Input, count: int) -> Path:
        path, directory = self.output / source.name, self._shards[source.name]
        shards = [shard_path(directory, index) for index in range(count)]
        with replacing(path) as temp_path:
            self.task.format_of(source).join(source.path, shards, temp_path)
        self._remove_shards(source.name)
        return path

    def _finished(self, name: str) -> bool:
        return (self.output / name).exists()

    def _remove_shards(self, name: str) -> None:
        # a worker that was given up may still write there
        shutil.rmtree(self._work / "shards" / name, ignore_errors=True)

    def _write_record(self, path: Path) -> None:
        """Record what the translations depend on, and compare it with what an earlier command recorded.

        What has not led to a translation is not compared: a command that has failed can be corrected.
        """
        settings = {
            "release": __version__,
            **self.settings,
            "column": self.task.column,
            "shards": [MAX_ROWS, MAX_BYTES],
        }
        inputs = {source.name: source.checksum() for source in self.inputs}
        record: dict[str, Any] = {"settings": settings, "inputs": {}}
        if path.exists():
            record = read_json(path.read_bytes())
        if self._has_translations(record["inputs"]):
            differing = [name for name, value in settings.items() if record["settings"].get(name) != value]
            if differing:
                raise BulkError(
                    f"{self.output} was translated with another {' and '.join(differing)}. {OTHERWISE}"
                )
        for source in self.inputs:
            known = record["inputs"].get(source.name)
            if known == inputs[source.name]:
                continue
            if self._finished(source.name):
                raise BulkError(
                    f"{self.output / source.name} exists, and is no translation of {source.path}: {OTHERWISE}"
                    if known is None
                    else f"{source.path} has changed since {self.output} was begun. {OTHERWISE}"
                )
            self._remove_shards(source.name)
        record = {"settings": settings, "inputs": record["inputs"] | inputs}
        write_whole(path, json.dumps(record, indent=2).encode())
        for name, checksum in inputs.items():
            # of its own for these settings: a worker of a killed command may still write one with others
            directory = hashlib.sha256(json.dumps([settings, checksum]).encode()).hexdigest()[:16]
            self._shards[name] = self._work / "shards" / name / directory

    def _has_translations(self, names: Iterable[str]) -> bool:
        shards = (self._work / "shards").rglob("*")
        return any(map(self._finished, names)) or any(item.is_file() for item in shards)
