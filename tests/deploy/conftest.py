"""What the tests of the deployment share: a version that was exported, two replicas, and programs."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from export.artifact.manifest import open_version
from serving import Client
from tests.support import needed
from tests.support.deploy.replica import Replica, replicas


@pytest.fixture(scope="session")
def program() -> Callable[[str], str]:
    """program(name): where it is."""
    return needed.program


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
