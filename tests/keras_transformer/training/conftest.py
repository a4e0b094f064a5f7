"""What the training tests share: phrasebook text, a tokenizer of it, and a disk that is full."""

import pytest

from keras_transformer.phrasebook import phrasebook
from keras_transformer.text.corpus import Pair
from keras_transformer.text.tokenizer import Tokenizer


@pytest.fixture(scope="session")
def pairs() -> list[Pair]:
    return list(phrasebook("fr-en", "train", 300))


@pytest.fixture(scope="session")
def tokenizer(pairs: list[Pair]) -> Tokenizer:
    return Tokenizer.train(pairs, 400, source_lang="fr", target_lang="en")
