"""A small model with weights that matter, and sources of every length."""

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.support.small_network import END, VOCABULARY, small_network

if TYPE_CHECKING:
    from keras_transformer import TranslationModel


@pytest.fixture(scope="module")
def model() -> "TranslationModel":
    return small_network()


@pytest.fixture(scope="module")
def rows() -> list[list[int]]:
    rng = np.random.default_rng(7)
    return [[*rng.integers(4, VOCABULARY, rng.integers(1, 20)).tolist(), END] for _ in range(150)]
