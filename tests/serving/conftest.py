"""What the tests of the server share: one small version, exported for real, and a root of it."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """models/fr-en/1, float32 and int8."""
    from tests.export.versions import exported, small_model

    directory = tmp_path_factory.mktemp("serving") / "models" / "fr-en" / "1"
    exported(small_model(), directory, "onnx", quantize="int8")
    return directory


@pytest.fixture(scope="session")
def another(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same network with other weights, float32: what it says is not what the other one says."""
    from tests.export.versions import exported, small_model

    directory = tmp_path_factory.mktemp("another") / "fr-en" / "2"
    exported(small_model(seed=5), directory, "onnx")
    return directory


@pytest.fixture
def root(exported: Path, tmp_path: Path) -> Path:
    """A root of NAME/VERSION directories, to change at will."""
    shutil.copytree(exported.parents[1], tmp_path / "models")
    return tmp_path / "models"
