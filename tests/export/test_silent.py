"""Nobody is told over the network what a machine translates: ONNX Runtime would, if it were left alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

OURS = (
    "export.calibration",
    "export.formats.runtimes.onnx_scheduler_runtime",
    "export.formats.runtimes.onnx_translate_runtime",
    "keras_transformer.inference.backends.session",
)


def found_at_home(code: str, home: Path) -> set[str]:
    """The files that a process leaves which loads the library and asks it something."""
    asking = "; from onnxruntime import SessionOptions, get_available_providers as a; a(); SessionOptions()"
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_CACHE_HOME": str(home)}  # no CI=true
    subprocess.run([sys.executable, "-c", code + asking], check=True, env=environment, timeout=120)
    return {path.name for path in home.rglob("*") if path.is_file()}


@pytest.mark.parametrize("module", OURS)
def test_what_loads_the_library_leaves_no_number_by_which_the_machine_is_known(
    module: str, tmp_path: Path
) -> None:
    assert not {"deviceid", "onnxruntime.db"} & found_at_home(f"import {module}", tmp_path)


def test_the_library_by_itself_does(tmp_path: Path) -> None:
    assert "deviceid" in found_at_home("import onnxruntime", tmp_path)
