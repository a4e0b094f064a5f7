"""Every benchmark still runs: on its smallest sizes, with the peers that are there."""

import json
import os
import re
import signal
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.support import fork_server

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(path for path in (ROOT / "benchmarks").glob("*.py") if "measure.parser(" in path.read_text())
PEERS = {  # that `make bench-env` adds
    "families": {"kerashub": "keras-hub"},
    "layers": {"kerashub": "keras-hub"},
    "training": {"pytorch": "torch"},
    "decoding": {"kerashub": "keras-hub", "hf": "transformers"},
    "imported": {"transformers": "transformers", "ctranslate2_int8": "transformers"},
}


def run(*command: object, directory: Path) -> subprocess.CompletedProcess[str]:
    """With a session of its own: where it hangs, its children end with it."""
    with fork_server.Popen(
        [sys.executable, *map(str, command)],
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        forking_children=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=280)
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def no_json(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is no JSON")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_benchmark_runs_in_small_and_prints_its_figures_as_json(script: Path, tmp_path: Path) -> None:
    done = run(script, "--smoke", "--json", directory=tmp_path)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-4000:]}"
    *lines, last = done.stdout.splitlines()
    outcome: dict[str, Any] = json.loads(last, parse_constant=no_json)
    assert outcome["benchmark"] == script.stem
    assert outcome["machine"]["cores"] == os.cpu_count()
    assert outcome["versions"] == {name: version(name) for name in outcome["versions"]} != {}
    assert outcome["figures"]
    assert all(isinstance(ratio, int | float) for ratio in outcome["ratios"].values())
    for peer, package in PEERS.get(script.stem, {}).items():
        measured = any(f"/{peer}" in name for name in outcome["ratios"])
        left_out = f"left out: {peer} ({package} is not installed)" in lines
        assert (measured, left_out) == (is_installed(package), not is_installed(package))
    assert list(tmp_path.iterdir()) == []  # what was made for it is gone


def test_every_benchmark_that_the_pages_name_is_there_and_is_run_here() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    named = {name for page in pages for name in re.findall(r"benchmarks/(\w+\.py)", page.read_text("utf-8"))}
    assert named <= {script.name for script in SCRIPTS}
    assert "training.py" in named


def test_without_smoke_a_peer_that_is_not_installed_is_named_with_what_installs_it(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'benchmarks')!r}); import measure; "
        "measure.installed({'ours': 'numpy', 'theirs': 'no-such-peer'}, measure.parser('').parse_args([]))"
    )
    done = run("-c", code, directory=tmp_path)
    assert done.returncode == 1
    assert "no-such-peer" in done.stderr
    assert "make bench-env" in done.stderr
