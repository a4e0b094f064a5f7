"""A corpus that several processes translate, some of which are killed."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from threading import Thread

import pytest

from keras_transformer.bulk import BulkError
from keras_transformer.bulk.corpus_files import Input
from keras_transformer.bulk.corpus_job import Job
from keras_transformer.bulk.engines import PROCESSES, translate_corpus
from keras_transformer.bulk.formats import MAX_ROWS
from keras_transformer.bulk.shards import Done, Shard
from keras_transformer.bulk.worker import Task
from keras_transformer.cores import ONE_CORE
from keras_transformer.text.corpus import CorpusError
from tests.support.bulk_models import Waiting, open_ending, open_environment, open_upper

MakeJob = Callable[..., Job]


def lines(name: str, count: int, **others: str) -> list[str]:
    """Lines of a file of several shards; others by their number, as _7="wait"."""
    numbered = [f"{name} {number}" for number in range(count)]
    for number, line in others.items():
        numbered[int(number[1:])] = line
    return numbered


def write(path: Path, content: list[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in content))


@pytest.fixture
def corpus(tmp_path: Path) -> dict[str, list[str]]:
    """Files of 3, 1 and 0 shards; in the second shard of the first one a model may wait or end."""
    made = {"a": lines("a", 1250, _750="wait"), "b": lines("b", 10), "c": []}
    for name, content in made.items():
        write(tmp_path / "in" / name, content)
    return made


def translate(job: Job, workers: int = 2) -> list[str]:
    """The names of the files that were finished by it."""
    finished: list[str] = []
    translate_corpus(job, PROCESSES, workers, lambda path: finished.append(path.name))
    return sorted(finished)


def assert_whole(output: Path, corpus: dict[str, list[str]]) -> None:
    """Every line is there once, and nothing is left of the shards."""
    for name, content in corpus.items():
        assert (output / name).read_text().splitlines() == [line.upper() for line in content]
    assert sorted(path.name for path in output.iterdir()) == [".bulk", *sorted(corpus)]
    assert sorted(path.name for path in (output / ".bulk").rglob("*")) == ["job.json", "lock", "shards"]


@pytest.mark.parametrize("workers", [1, 3])
def test_every_line_is_translated_once_in_its_place(
    job: MakeJob, corpus: dict[str, list[str]], workers: int
) -> None:
    assert translate(job(), workers) == ["a", "b", "c"]
    assert_whole(job().output, corpus)


def test_what_is_there_is_not_done_again(job: MakeJob, corpus: dict[str, list[str]]) -> None:
    translate(job())
    (job().output / "b").unlink()
    before = (job().output / "a").stat()
    assert translate(job()) == ["b"]
    assert (job().output / "a").stat() == before
    assert_whole(job().output, corpus)
    assert translate(job()) == []


def test_files_that_are_added_later_are_translated_too(
    job: MakeJob, corpus: dict[str, list[str]], tmp_path: Path
) -> None:
    translate(job())
    write(tmp_path / "in" / "d", ["later"])
    assert translate(job()) == ["d"]
    assert_whole(job().output, {**corpus, "d": ["later"]})


def test_a_killed_worker_costs_only_the_time_of_its_shard(
    job: MakeJob, corpus: dict[str, list[str]], waiting: Waiting, tmp_path: Path
) -> None:
    def kill() -> None:
        with waiting.reached() as process:
            os.kill(process, signal.SIGKILL)
            (shards,) = (tmp_path / "out" / ".bulk" / "shards" / "a").iterdir()
            (shards / ".partial-of-a-worker-that-was-given-up").write_text("half a shard")

    killer = Thread(target=kill)
    killer.start()
    assert translate(job(waiting)) == ["a", "b", "c"]
    killer.join()
    assert_whole(job().output, corpus)


def test_a_shard_that_ends_every_worker_ends_the_command_with_its_lines(
    job: MakeJob, corpus: dict[str, list[str]], tmp_path: Path
) -> None:
    write(tmp_path / "in" / "a", lines("a", 1250, _750="end"))
    with pytest.raises(BulkError, match="4 workers") as refused:
        translate(job(open_ending), 1)
    assert f"{tmp_path}/in/a, lines 501 to 1,000" in str(refused.value)
    with pytest.raises(BulkError, match="4 workers"):  # the next command counts from the beginning
        translate(job(open_ending), 1)
    assert translate(job()) == ["a", "b", "c"]


SCRIPT = """
import sys
from pathlib import Path
from keras_transformer import cli
from keras_transformer.cli import _bulk
from tests.support.bulk_models import Waiting

_bulk.open_in_worker = Waiting(Path(sys.argv.pop(1)))
cli.command()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_after_a_command_that_was_ended_in_the_middle_the_same_one_does_the_rest(
    corpus: dict[str, list[str]], waiting: Waiting, tmp_path: Path, exported: Path, number: signal.Signals
) -> None:
    command = [
        sys.executable, "-c", SCRIPT, str(waiting.pipe), "translate", str(exported), "--engine", "processes",
        "--workers", "1", "--input", f"{tmp_path}/in/*", "--output", f"{tmp_path}/out",
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        with waiting.reached() as worker:
            (shard,) = (tmp_path / "out" / ".bulk" / "shards" / "a").rglob("0000000")
            before = shard.stat()
            os.killpg(process.pid, number)  # as a terminal does
            assert process.wait(60) == (130 if number == signal.SIGINT else -signal.SIGKILL)
        assert process.stderr
        error = process.stderr.read()  # until the worker has ended as well, which has the other end
    assert "Traceback" not in error
    assert error.endswith("keras-transformer translate: interrupted\n") == (number == signal.SIGINT)
    assert not Path(f"/proc/{worker}/fd/2").exists()
    assert shard.stat() == before
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    there = 500 if number == signal.SIGINT else 1000  # the worker of a killed command finishes its shard
    assert f"{there:,} lines were there; {1260 - there:,} lines, " in done.stderr
    assert_whole(tmp_path / "out", corpus)


def test_a_full_disk_ends_the_command_and_the_same_one_does_the_rest(
    job: MakeJob, tmp_path: Path, disk_of: Callable[[int], AbstractContextManager[None]]
) -> None:
    corpus = {"a": [*lines("a", MAX_ROWS), "b" * 50_000]}
    write(tmp_path / "in" / "a", corpus["a"])
    with disk_of(15_000), pytest.raises(BulkError, match="0000001") as refused:
        translate(job(), 1)
    assert "File too large" in str(refused.value)
    shards = job().output / ".bulk" / "shards" / "a"
    assert [path.name for path in shards.rglob("0*") if not path.suffix] == ["0000000"]
    assert translate(job(), 1) == ["a"]
    assert_whole(job().output, corpus)


def test_a_disk_that_is_full_when_a_file_is_joined_leaves_its_shards(
    job: MakeJob, tmp_path: Path, disk_of: Callable[[int], AbstractContextManager[None]]
) -> None:
    corpus = {"a": lines("a", 5 * MAX_ROWS)}
    write(tmp_path / "in" / "a", corpus["a"])
    with disk_of(10_000), pytest.raises(OSError, match="out/a"):
        translate(job(), 1)
    assert not (job().output / "a").exists()
    assert translate(job(), 1) == ["a"]
    assert_whole(job().output, corpus)


def test_a_command_that_runs_already_is_not_joined_by_another(
    job: MakeJob, corpus: dict[str, list[str]]
) -> None:
    with job().begun(), pytest.raises(BulkError, match="another command"):
        translate(job())


@pytest.mark.parametrize("changed", ["model", "beam", "column", "input"])
def test_shards_of_another_model_other_options_or_another_input_are_never_joined(
    job: MakeJob, corpus: dict[str, list[str]], tmp_path: Path, changed: str
) -> None:
    settings = {"model": "a sum", "beam": 1}
    translate(job(open_upper, **settings))
    if changed == "input":
        write(tmp_path / "in" / "b", ["other"])
    elif changed == "column":
        for name in corpus:
            (tmp_path / "in" / name).rename(tmp_path / "in" / f"{name}.jsonl")
        settings["column"] = "text"
    else:
        settings[changed] = 2
    with pytest.raises(BulkError, match=changed if changed != "input" else "in/b has changed") as refused:
        translate(job(open_upper, **settings))
    assert "another directory" in str(refused.value)


def test_shards_of_another_model_are_refused_before_a_file_is_finished(job: MakeJob, tmp_path: Path) -> None:
    write(tmp_path / "in" / "a", lines("a", 1250, _750="end"))
    with pytest.raises(BulkError, match="4 workers"):
        translate(job(open_ending, model=1), 1)
    with pytest.raises(BulkError, match="another model"):
        translate(job(model=2), 1)
    assert translate(job(model=1), 1) == ["a"]


def test_what_a_worker_of_a_killed_command_still_writes_is_not_joined_with_other_settings(
    job: MakeJob, tmp_path: Path
) -> None:
    write(tmp_path / "in" / "a", ["text"])
    begun, later = job(model=1), job(model=2)
    with begun.begun():
        (shard,) = [item for item in begun.cut(begun.inputs[0]) if isinstance(item, Shard)]
    with later.begun():
        shard.path.write_text("of the first model\n")
        assert [type(item) for item in later.cut(later.inputs[0])] == [Shard, Done]


def test_the_shards_of_a_finished_file_are_removed_by_the_next_command(
    job: MakeJob, corpus: dict[str, list[str]]
) -> None:
    translate(job())
    left = job().output / ".bulk" / "shards" / "a" / "0" / "0000000"  # a kill after the joining leaves them
    left.parent.mkdir(parents=True)
    left.touch()
    assert translate(job()) == []
    assert_whole(job().output, corpus)


@pytest.mark.parametrize("name", ["c.attempts", ".partial-c"])
def test_a_file_with_a_name_of_leftovers_is_continued(job: MakeJob, tmp_path: Path, name: str) -> None:
    write(tmp_path / "in" / name, lines("c", 3, _1="end"))
    made = partial(Job, [Input.of(tmp_path / "in" / name)], tmp_path / "out", settings={})
    with pytest.raises(BulkError, match="4 workers"):
        translate(made(task=Task(open_ending)), 1)
    assert translate(made(task=Task(open_upper)), 1) == [name]


def test_a_worker_computes_on_one_core_in_every_library(
    job: MakeJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ONE_CORE:
        monkeypatch.delenv(name, raising=False)
    write(tmp_path / "in" / "a", [*ONE_CORE])
    assert translate(job(open_environment), 1) == ["a"]
    assert (tmp_path / "out" / "a").read_text().split() == ["1", "1", "1"]


def test_a_file_that_is_no_translation_is_not_taken_for_one(
    job: MakeJob, corpus: dict[str, list[str]], tmp_path: Path
) -> None:
    write(tmp_path / "out" / "a", ["written by another program"])
    with pytest.raises(BulkError, match=re.escape(str(tmp_path / "out" / "a"))):
        translate(job())
    assert (tmp_path / "out" / "a").read_text() == "written by another program\n"


def test_a_line_that_is_not_utf_8_ends_the_command_and_finished_shards_stay(
    job: MakeJob, corpus: dict[str, list[str]], tmp_path: Path
) -> None:
    (tmp_path / "in" / "b").write_bytes(b"good\n" * MAX_ROWS + b"caf\xe9\n")
    with pytest.raises(CorpusError, match="line 501: 0xE9"):
        translate(job(), 1)
    assert (tmp_path / "out" / "a").read_text().count("\n") == 1250
