"""benchmarks/overload.py runs as its docstring says."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.paths import ROOT


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="the server and its callers need a core each")
def test_the_benchmark_of_an_overload_measures_the_server_and_envoy(
    program: Callable[[str], str], exported: Path
) -> None:
    program("envoy")
    command = [sys.executable, "benchmarks/overload.py", "--smoke", "--json", "--model", str(exported)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["benchmark"] == "overload"
    assert set(found["ratios"]) == {
        f"{front} {times} times/best" for front in ("server", "envoy") for times in (5, 10)
    }
    for front in ("server", "envoy"):
        assert found["figures"][f"{front} 10 times"]["without an end"] == [0, 0]
