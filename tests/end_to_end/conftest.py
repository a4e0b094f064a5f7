"""A model trained as a user trains one: `keras-transformer train --phrasebook fr-en`."""

import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from keras_transformer import TranslationModel
from keras_transformer.phrasebook import phrasebook


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> TranslationModel:
    run: Path = tmp_path_factory.mktemp("phrasebook") / "run"
    command = [sys.executable, "-m", "keras_transformer", "train", "--phrasebook", "fr-en", "--run", str(run)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return TranslationModel.load(run)


@pytest.fixture(scope="session")
def held_out() -> list[str]:
    """2,000 sentences that the model has not seen."""
    return [pair.source for pair in islice(phrasebook("fr-en", "test", 2000), 2000)]
