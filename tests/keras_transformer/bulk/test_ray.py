"""A corpus that actors of Ray translate: one start of Ray, which takes seconds."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pytest
from pyarrow import parquet

from export.artifact.manifest import open_version
from export.translator import Translator, lightest
from keras_transformer.phrasebook import phrasebook
from tests.support.bulk_models import Waiting

SCRIPT = """
import sys
from pathlib import Path
from keras_transformer import cli
from keras_transformer.cli import _bulk
from tests.support.bulk_models import Waiting

_bulk.open_in_worker = Waiting(Path(sys.argv.pop(1)), _bulk.open_in_worker)
cli.command()
"""


def test_a_killed_actor_costs_only_the_time_of_its_shard(
    exported: Path, waiting: Waiting, tmp_path: Path
) -> None:
    version = open_version(exported)
    texts = [pair.source for pair in phrasebook("fr-en", "train", 40)]
    answers = Translator(version, lightest(version)).translate_divided([*texts, "wait"])
    expected = [answer.text for answer in answers]
    (tmp_path / "in").mkdir()
    table = pa.table({"text": [*texts, "wait"] * 30, "number": range(30 * len(expected))})  # 3 shards
    parquet.write_table(table, tmp_path / "in" / "a.parquet")
    command = [
        sys.executable, "-c", SCRIPT, str(waiting.pipe), "translate", str(exported), "--engine", "ray",
        "--workers", "2", "--column", "text", "--input", f"{tmp_path}/in/*", "--output", f"{tmp_path}/out",
    ]  # fmt: skip

    def kill() -> None:
        with waiting.reached() as actor:
            os.kill(actor, signal.SIGKILL)

    killer = Thread(target=kill, daemon=True)
    killer.start()
    for _ in range(3):  # Ray gives its own start 30 s, on whatever machine
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, timeout=140)
        if "Ray cannot be reached or started" not in done.stderr:
            break
    assert done.returncode == 0, done.stderr
    killer.join()
    assert "Traceback" not in done.stderr
    translated = parquet.read_table(tmp_path / "out" / "a.parquet")
    assert translated.select(["text", "number"]).equals(table)
    assert translated["translation"].to_pylist() == expected * 30
    assert not list((tmp_path / "out" / ".bulk" / "shards").iterdir())


DRIVER = """
import sys
from pathlib import Path
from keras_transformer.bulk.corpus_files import matching
from keras_transformer.bulk.corpus_job import Job
from keras_transformer.bulk.engines import RAY, translate_corpus
from keras_transformer.bulk.worker import Task
from tests.support.bulk_models import Waiting

here = Path(sys.argv[1])
job = Job(matching(f"{here}/in/*", here / "out"), here / "out", Task(Waiting(here / "pipe")), {})
translate_corpus(job, RAY, 2, print)
"""


@pytest.mark.soak
def test_after_a_command_that_was_killed_no_actor_is_left_and_the_same_command_does_the_rest(
    waiting: Waiting, tmp_path: Path
) -> None:
    lines = [f"line {number}" for number in range(2000)]
    lines[1200] = "wait"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("".join(f"{line}\n" for line in lines))
    command = [sys.executable, "-c", DRIVER, str(tmp_path)]
    with subprocess.Popen(command) as driver, waiting.reached() as actor:
        end = os.pidfd_open(actor)
        driver.kill()
        assert select.select([end], [], [], 60)[0]
        os.close(end)
    subprocess.run(command, check=True, timeout=140)
    assert (tmp_path / "out" / "a").read_text().splitlines() == [line.upper() for line in lines]
    assert not list((tmp_path / "out" / ".bulk" / "shards").iterdir())
