"""The scores of held-out pairs: of all their tokens, however the pairs are put into batches."""

from typing import Any

import keras
import pytest

from keras_transformer import TranslationModel
from keras_transformer.models.network import Network
from keras_transformer.text.corpus import Pair
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training import validation
from keras_transformer.training.validation import Validation


@pytest.fixture(scope="module")
def model(tokenizer: Tokenizer) -> TranslationModel:
    keras.utils.set_random_seed(5)
    model = TranslationModel(Network(1, 1, 16, 24, 2), tokenizer.source_size, tokenizer=tokenizer)
    model.build()
    return model


@pytest.fixture(scope="module")
def held_out(pairs: list[Pair]) -> list[Pair]:
    long = Pair(" ".join(pair.source for pair in pairs[:9]), " ".join(pair.target for pair in pairs[:9]))
    return [*pairs[:30], long, *pairs[30:60], Pair("Oui.", long.target)]


def scored(model: TranslationModel, held_out: list[Pair]) -> tuple[dict[str, float], list[Any]]:
    scores = Validation(model, held_out, 128)
    return scores.scores(), [(source.shape, labels.shape) for source, _, labels in scores._batches()]


def test_long_sentences_take_no_more_memory_than_short_ones_and_the_scores_are_those_of_single_rows(
    model: TranslationModel, held_out: list[Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validation, "TOKENS", 1)
    alone, rows = scored(model, held_out)
    assert [source[0] for source, _ in rows] == [1] * len(held_out)
    monkeypatch.setattr(validation, "TOKENS", 200)
    together, batches = scored(model, held_out)
    assert len(batches) < len(held_out) / 3
    assert all(rows * max(length, labels[1]) <= 200 for (rows, length), labels in batches)
    assert together == pytest.approx(alone, rel=1e-5)
