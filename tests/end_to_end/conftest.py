"""A model trained as a user trains one: `keras-transformer train --phrasebook fr-en`."""

import random
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


@pytest.fixture(scope="session")
def uncertain(trained: TranslationModel, held_out: list[str]) -> list[str]:
    """120 sentences, each with two neighbouring letters exchanged: a beam changes about 40 answers."""
    choice, texts = random.Random(1), []
    for text in held_out[:120]:
        place = choice.randrange(len(text) - 1)
        texts.append(text[:place] + text[place : place + 2][::-1] + text[place + 2 :])
    greedy, searched = (trained.hypotheses(texts, beam=beam, loop_guard=False) for beam in (1, 5))
    changed = sum(one[0].tokens != other[0].tokens for one, other in zip(greedy, searched, strict=True))
    print(f"\na beam of 5 changes {changed} of {len(texts)}")
    assert changed >= 5
    return texts
