"""CTranslate2 says with the same weights what the model says."""

from pathlib import Path

import ctranslate2
import keras
import numpy as np
import pytest

from export.formats.writers.ctranslate2 import write_ctranslate2
from keras_transformer import Tokenizer, TranslationModel
from keras_transformer.models.network import Network
from keras_transformer.phrasebook import phrasebook
from keras_transformer.text.lengths import longest_answer
from tests.support.versions.random_weights import enliven

PAIRS = list(phrasebook("fr-en", "train", 200))
TEXTS = [pair.source for pair in PAIRS[:20]]


def random_model(joint: bool = True, **network: object) -> TranslationModel:
    """Weights larger than a fresh model's, so that the answers depend on the source."""
    tokenizer = Tokenizer.train(PAIRS, 380, joint=joint)
    keras.utils.set_random_seed(4)
    target = None if joint else tokenizer.target_size
    model = TranslationModel(Network(2, 2, 16, 24, 2, **network), tokenizer.source_size, target, tokenizer)
    model.build()
    enliven(model)
    return model


@pytest.mark.parametrize(
    "settings", [{}, {"norm_first": False}, {"joint": False}, {"activation": "gelu"}, {"activation": "silu"}]
)
def test_it_gives_the_same_tokens_with_the_same_weights(settings: dict[str, object], tmp_path: Path) -> None:
    model = random_model(**settings)
    tokenizer = model.tokenizer
    write_ctranslate2(model, tmp_path / "model")
    tables = [*(weight.numpy() for weight in model.weights), np.asarray(model.positions.table)]
    size = (tmp_path / "model" / "model.bin").stat().st_size
    assert size < sum(table.nbytes for table in tables) + 6_000  # each of them once, and the names
    translator = ctranslate2.Translator(str(tmp_path / "model"), compute_type="float32")
    answers = set()
    for text, (ours,) in zip(TEXTS, model.hypotheses(TEXTS), strict=True):
        (source,) = tokenizer.encode_source([text])
        (theirs,) = translator.translate_batch(
            [tokenizer.pieces_source(source)],
            beam_size=1,
            min_decoding_length=0,
            max_decoding_length=longest_answer(len(source)),
        )
        assert tokenizer.pieces_target(ours.tokens) == theirs.hypotheses[0]
        answers.add(ours.text)
    assert len(answers) > 3


def test_what_it_cannot_say_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError) as told:
        write_ctranslate2(random_model(activation="tanh"), tmp_path / "model")
    assert str(told.value) == "CTranslate2 has the activations relu, gelu, silu; this network has 'tanh'."
    bare = TranslationModel(Network(1, 1, 8, 8, 2), 30)
    bare.build()
    with pytest.raises(ValueError) as told:
        write_ctranslate2(bare, tmp_path / "model")
    assert str(told.value) == "this model has no tokenizer: CTranslate2 needs the pieces behind its ids."
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    with pytest.raises(FileExistsError) as told:
        write_ctranslate2(random_model(), tmp_path / "model")
    assert str(told.value) == (
        f"{tmp_path / 'model'} exists and is never overwritten: remove it or choose another."
    )
