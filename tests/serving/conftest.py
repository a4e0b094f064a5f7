"""What the tests of the server share: a root of the small version."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def root(exported: Path, tmp_path: Path) -> Path:
    """A root of NAME/VERSION directories, to change at will."""
    shutil.copytree(exported.parents[1], tmp_path / "models")
    return tmp_path / "models"
