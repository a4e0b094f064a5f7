"""The same test with few in `make test`, and with all in `make soak`."""

import pytest


def counts(few: int, all_of_them: int) -> pytest.MarkDecorator:
    """A parameter `count`."""
    soak = (pytest.mark.soak, pytest.mark.timeout(3600))
    return pytest.mark.parametrize("count", [few, pytest.param(all_of_them, marks=soak)])
