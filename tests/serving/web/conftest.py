"""A server as it runs, for all that only ask it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.serving.serve_process import serving_both


@pytest.fixture(scope="session")
def address(exported: Path) -> Iterator[str]:
    """Of HTTP."""
    with serving_both(exported) as (_, _, address):
        yield address
