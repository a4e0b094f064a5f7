"""What the training tests share: phrasebook text, a tokenizer of it, and a disk that is full."""

import resource
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from keras_transformer.text.corpus import Pair
from keras_transformer.text.phrasebook import phrasebook
from keras_transformer.text.tokenizer import Tokenizer


@pytest.fixture(scope="session")
def pairs() -> list[Pair]:
    return list(phrasebook("fr-en", "train", 300))


@pytest.fixture(scope="session")
def tokenizer(pairs: list[Pair]) -> Tokenizer:
    return Tokenizer.train(pairs, 400, source_lang="fr", target_lang="en")


@pytest.fixture
def disk_of() -> Callable[[int], AbstractContextManager[None]]:
    """disk_of(bytes): no file of this process can grow past so many; what writes more gets an OSError."""

    @contextmanager
    def limited(size: int) -> Iterator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limited
