"""The worked examples, computed once, and a small model whose heads differ."""

import keras
import pytest

from keras_transformer import TranslationModel
from keras_transformer.models.network import Network
from keras_transformer.phrasebook import phrasebook
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.viz.walkthrough.content import WorkedExample
from keras_transformer.viz.walkthrough.examples import EXAMPLES, worked_example


@pytest.fixture(scope="session")
def examples() -> list[tuple[int, WorkedExample]]:
    return [(number, worked_example(number)) for number in range(1, len(EXAMPLES) + 1)]


@pytest.fixture(scope="session")
def model() -> TranslationModel:
    """Two layers read, three write, each of two heads; it learned nothing, but looks here and there."""
    tokenizer = Tokenizer.train(phrasebook("fr-en", "train", 200), 400)
    keras.utils.set_random_seed(8)
    model = TranslationModel(
        Network(2, 3, 16, 24, 2, max_length=40), tokenizer.source_size, tokenizer=tokenizer
    )
    model.build()
    for weight in model.trainable_variables:
        if len(weight.shape) > 1:
            weight.assign(weight * 3.0)  # at first, every head looks everywhere alike
    return model
