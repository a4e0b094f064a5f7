"""What is said of a model at each validation."""

from itertools import pairwise
from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer import LabelSmoothedCrossEntropy, TranslationModel
from keras_transformer.models.network import Network
from keras_transformer.text.corpus import Pair
from keras_transformer.text.padding import padded
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training import validation
from keras_transformer.training.data.dataset import shifted
from keras_transformer.training.validation import Validation

PAIRS = [
    Pair("I like tea.", "我喜欢喝茶。"),
    Pair("Where is the station?", "请问火车站在哪里？"),
    Pair("She reads a book today.", "她今天在看一本书。"),
    Pair("We live in a small town.", "我们住在一个小城市里。"),
]


@pytest.fixture(scope="module")
def model() -> TranslationModel:
    """It knows these four pairs, and nothing else."""
    keras.utils.set_random_seed(1)
    tokenizer = Tokenizer.train(PAIRS * 20, vocabulary_size=330, source_lang="en", target_lang="zh-CN")
    model = TranslationModel(
        Network(1, 1, 32, 64, 2, dropout=0.0), tokenizer.source_size, tokenizer=tokenizer
    )
    model.compile(keras.optimizers.Adam(0.01), LabelSmoothedCrossEntropy(0.0), jit_compile=False)
    source, labels = rows(tokenizer)
    inputs = {"source": source, "target": shifted(labels, tokenizer.bos_id)}
    sixty = {name: np.tile(ids, (60, 1)) for name, ids in inputs.items()}
    model.fit(sixty, np.tile(labels, (60, 1)), batch_size=len(PAIRS), shuffle=False, verbose=0)
    return model


def rows(tokenizer: Tokenizer) -> list[np.ndarray]:
    sides = (
        tokenizer.encode_source([pair.source for pair in PAIRS]),
        tokenizer.encode_target([pair.target for pair in PAIRS]),
    )
    return [padded(side) for side in sides]


def test_a_language_without_spaces_has_a_bleu_that_means_something(model: TranslationModel) -> None:
    assert model.translate([pair.source for pair in PAIRS]) == [pair.target for pair in PAIRS]
    assert Validation(model, PAIRS, 128).scores()["bleu"] == pytest.approx(100.0)
    other = Validation(model, [PAIRS[0]._replace(target="我喜欢喝水。")], 128).scores()["bleu"]
    # of 5 characters and a full stop 5 are right, of 5 pairs 3, of 4 triples 2, of 3 quadruples 1
    assert other == pytest.approx(100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** (1 / 4))


def test_loss_and_accuracy_are_those_of_single_tokens_with_the_right_ones_before_them(
    model: TranslationModel,
) -> None:
    tokenizer = model.tokenizer
    strangers = [Pair(one.source, other.target) for one, other in pairwise(PAIRS)]
    losses, right = [], []
    for pair in strangers:
        (source,), (labels,) = tokenizer.encode_source([pair.source]), tokenizer.encode_target([pair.target])
        given = np.array([[tokenizer.bos_id, *labels[:-1]]])
        (logits,) = np.asarray(model({"source": np.array([source]), "target": given}), np.float64)
        log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        losses += (-log_probs[np.arange(len(labels)), labels]).tolist()
        right += (logits.argmax(-1) == labels).tolist()
    scores = Validation(model, strangers, 128).scores()
    assert scores["loss"] == pytest.approx(np.mean(losses), rel=1e-5)
    assert scores["accuracy"] == pytest.approx(np.mean(right))
    assert 0 < scores["accuracy"] < 1


@pytest.fixture(scope="module")
def fresh(tokenizer: Tokenizer) -> TranslationModel:
    keras.utils.set_random_seed(5)
    model = TranslationModel(Network(1, 1, 16, 24, 2), tokenizer.source_size, tokenizer=tokenizer)
    model.build()
    return model


@pytest.fixture(scope="module")
def held_out(pairs: list[Pair]) -> list[Pair]:
    long = Pair(" ".join(pair.source for pair in pairs[:9]), " ".join(pair.target for pair in pairs[:9]))
    return [*pairs[:14], long, *pairs[14:28], Pair("Oui.", long.target)]


def scored(model: TranslationModel, held_out: list[Pair]) -> tuple[dict[str, float], list[Any]]:
    scores = Validation(model, held_out, 128)
    return scores.scores(), [(source.shape, labels.shape) for source, _, labels in scores._batches()]


def test_long_sentences_take_no_more_memory_than_short_ones_and_the_scores_are_those_of_single_rows(
    fresh: TranslationModel, held_out: list[Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validation, "TOKENS", 1)
    alone, single = scored(fresh, held_out)
    assert [source[0] for source, _ in single] == [1] * len(held_out)
    monkeypatch.setattr(validation, "TOKENS", 200)
    together, batches = scored(fresh, held_out)
    assert len(batches) < len(held_out) / 3
    assert all(rows * max(length, labels[1]) <= 200 for (rows, length), labels in batches)
    assert together == pytest.approx(alone, rel=1e-5)
