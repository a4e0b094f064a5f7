"""A command that is called with closed streams, as a daemon or a cron job may, does its work all the same."""

import subprocess
import sys
from pathlib import Path

import pytest


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
