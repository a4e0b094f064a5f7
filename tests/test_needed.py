"""A test whose program is missing is skipped with a hint; in CI it fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import fork_server
from tests.support.needed import REMEDIES

ROOT = Path(__file__).parents[1]
TESTS = {  # and what each of them needs
    "tests/keras_transformer/viz/test_attention_page.py::test_arrows_and_numbers_choose": "chromium",
    "tests/deploy/test_measurements.py::"
    "test_the_configuration_is_one_that_promtool_finds_nothing_wrong_with": "promtool",
    "tests/examples/test_sentencepiece.py::"
    "test_hostile_text_has_the_same_ids_and_comes_back_the_same": "node",
}
HINTS = [f"{program} is not installed: {REMEDIES[program]}" for program in TESTS.values()]


def run_without_programs(**variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "PATH")}
    return fork_server.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "0", *TESTS],
        cwd=ROOT,
        env={**environment, "PATH": "", **variables},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_on_a_users_machine_the_run_ends_with_what_was_skipped_and_how_to_get_it() -> None:
    done = run_without_programs()
    assert done.returncode == 0, done.stdout
    summary = done.stdout.partition("short test summary info")[2]
    assert [hint for hint in HINTS if hint not in summary] == []
    assert "SKIPPED" in summary


def test_in_ci_a_test_without_its_program_fails_and_says_how_to_get_it() -> None:
    done = run_without_programs(CI="true")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout
    assert [hint for hint in HINTS if hint not in done.stdout] == []
    assert "SKIPPED" not in done.stdout
