"""What the tests of the commands share: a small model that says something, as translate finds it."""

from collections.abc import Iterator
from pathlib import Path

import keras
import pytest

from keras_transformer import TranslationModel
from keras_transformer.bulk import processes
from keras_transformer.models.network import Network
from keras_transformer.phrasebook import phrasebook
from keras_transformer.text.tokenizer import Tokenizer
from tests.support import forked_workers


@pytest.fixture(scope="module", autouse=True)
def _workers_in_forks() -> Iterator[None]:
    """Fork the workers of corpora; those of commands that tests start are started."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "subprocess", forked_workers)
        yield


@pytest.fixture(scope="module")
def model() -> TranslationModel:
    tokenizer = Tokenizer.train(phrasebook("fr-en", "train", 200), 400, source_lang="fr", target_lang="en")
    keras.utils.set_random_seed(5)
    model = TranslationModel(Network(1, 1, 16, 24, 2), tokenizer.source_size, tokenizer=tokenizer)
    model.build()
    for weight in model.trainable_variables:
        if len(weight.shape) > 1:
            weight.assign(weight * 2.0)  # larger than at first: the answers depend on the source
    return model


@pytest.fixture(scope="module")
def run(model: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What translate needs of a run directory."""
    path = tmp_path_factory.mktemp("run")
    model.save(path / "model.keras")
    return path
