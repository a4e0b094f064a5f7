"""What the tests of exported versions share: a version in the format that is made most quickly."""

from pathlib import Path

import pytest

from tests.support.versions.small_model import exported_once


@pytest.fixture(scope="session")
def whole(shared: Path) -> Path:
    return exported_once(shared / "ctranslate2", "1", "ctranslate2")
