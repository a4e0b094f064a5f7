"""A small model with weights that matter, and sources of every length."""

import keras
import numpy as np
import pytest

from keras_transformer import TranslationModel
from keras_transformer.models.network import Network
from tests.export.weights import enliven

END, LONGEST, VOCABULARY = 3, 40, 100


@pytest.fixture(scope="module")
def model() -> TranslationModel:
    keras.utils.set_random_seed(4)
    model = TranslationModel(Network(2, 2, 16, 24, 2, max_length=LONGEST), VOCABULARY)
    model.build()
    enliven(model)
    return model


@pytest.fixture(scope="module")
def rows() -> list[list[int]]:
    rng = np.random.default_rng(7)
    return [[*rng.integers(4, VOCABULARY, rng.integers(1, 20)).tolist(), END] for _ in range(150)]
