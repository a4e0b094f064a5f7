"""What the model tests share: phrasebook text, tokenizers of it, and a small network."""

import pytest

from keras_transformer.models.network import Network
from keras_transformer.phrasebook import phrasebook
from keras_transformer.text.corpus import Pair
from keras_transformer.text.tokenizer import Tokenizer


@pytest.fixture(scope="session")
def pairs() -> list[Pair]:
    return list(phrasebook("fr-en", "train", 200))


@pytest.fixture(scope="session")
def tokenizer(pairs: list[Pair]) -> Tokenizer:
    return Tokenizer.train(pairs, 400, source_lang="fr", target_lang="en")


@pytest.fixture(scope="session")
def separate_tokenizer(pairs: list[Pair]) -> Tokenizer:
    return Tokenizer.train(pairs, 350, joint=False)


@pytest.fixture(scope="session")
def small() -> Network:
    return Network(2, 2, 16, 24, 2)
