"""The worked examples, computed once."""

import pytest

from keras_transformer.explain.content import Example
from keras_transformer.explain.examples import EXAMPLES, worked_example


@pytest.fixture(scope="session")
def examples() -> list[tuple[int, Example]]:
    return [(number, worked_example(number)) for number in range(1, len(EXAMPLES) + 1)]
