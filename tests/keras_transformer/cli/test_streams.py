"""A command does its work whatever becomes of its streams: a daemon or a cron job closes them, head goes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import failed


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_closed_streams_are_no_failure(closed: str, tmp_path: Path) -> None:
    source, target = tmp_path / "a.fr", tmp_path / "a.en"
    command = [sys.executable, "-m", "keras_transformer", "phrasebook", "fr-en", "--pairs", "3"]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *command, "--source", source, "--target", target],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == b""
    assert done.returncode == 0
    assert len(source.read_text().splitlines()) == len(target.read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("command", "stream", "status", "told"),
    [
        ("--help", ">/dev/full", 1, "No space left on device"),
        ("info --help", ">/dev/full", 1, "No space left on device"),
        ("phrasebook fr-en --pairs 3", ">/dev/full", 1, "No space left on device"),
        ("phrasebook fr-en --pairs 3", ">&-", 1, "standard output is closed"),
        ("info nothing", ">&-", 1, "standard output is closed"),
        ("phrasebook fr-en --pairs 3", "2>/dev/full", 0, ""),
    ],
)
def test_results_that_cannot_be_written_are_a_failure(
    command: str, stream: str, status: int, told: str
) -> None:
    words = ["sh", "-c", f'exec "$@" {stream}', "sh", sys.executable, "-m", "keras_transformer"]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [*words, *command.split()], capture_output=True, text=True, timeout=60, check=False, env=buffered
    )
    assert done.returncode == status
    assert told in done.stderr
    assert done.stderr.count("\n") == status


def test_progress_that_cannot_be_written_costs_no_result() -> None:
    code = """
from keras_transformer import cli
main = cli.main
cli.main = lambda: cli.report("progress") or main(["phrasebook", "fr-en", "--pairs", "2"])
cli.command()
"""
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, timeout=60, check=False)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 2


def test_who_listens_to_the_progress_may_go_and_the_work_is_done(tmp_path: Path) -> None:
    lines, page = tmp_path / "lines.txt", tmp_path / "page.html"
    lines.write_text("Thanks.\n")
    (tmp_path / "same.txt").write_text("Thanks.\n")
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "keras_transformer", "evaluate", "--json", "--worst", page]
    files = ["--translations", lines, "--reference", tmp_path / "same.txt"]
    done = subprocess.run([*command, *files], stdout=subprocess.PIPE, stderr=write, timeout=60, check=False)
    os.close(write)
    assert done.returncode == 0
    assert json.loads(done.stdout)["exact"] == 1
    assert page.exists()


def test_a_corpus_is_not_read_from_a_closed_standard_input(tmp_path: Path) -> None:
    reference = tmp_path / "r.txt"
    reference.write_text("Thanks.\n")
    command = [sys.executable, "-m", "keras_transformer", "evaluate", "--translations", "-"]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *command, "--reference", reference],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "keras-transformer evaluate: standard input is closed: name a file\n"


def test_the_phrasebook_goes_into_two_files_not_twice_into_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "same.txt"
    path.write_text("kept\n")
    options = ["fr-en", "--pairs", "3", "--source", path, "--target", path]
    error = failed(capsys, "phrasebook", *options, status=2)
    assert error == f"error: {path} is given as --source and as --target: name two files."
    assert path.read_text() == "kept\n"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["fr-en", "--source", "a.txt"], "--source and --target"),
        (["fr-xx"], "fr-xx"),
        (["fr-en", "--split", "all"], "all"),
        (["fr-en", "--pairs", 10**9], "1000000000"),
    ],
)
def test_what_the_phrasebook_cannot_be_asked_for_is_wrong_usage(
    options: list[object], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert named in failed(capsys, "phrasebook", *options, status=2)
