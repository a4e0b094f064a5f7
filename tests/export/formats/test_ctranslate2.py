"""CTranslate2 says with the same weights what the model says."""

from pathlib import Path

import ctranslate2
import keras
import numpy as np
import pytest

from export.artifact.golden import BEAM, NEAR_TIE
from export.formats.format import VersionFiles
from export.formats.runtimes.ctranslate2_runtime import CTranslate2Runtime
from export.formats.writers.ctranslate2 import write_ctranslate2
from export.golden_answers import beam_answers
from keras_transformer import Tokenizer, TranslationModel
from keras_transformer.decoding.traced_search import Search
from keras_transformer.models.network import Network
from keras_transformer.models.translate import search_ids
from keras_transformer.phrasebook import phrasebook
from keras_transformer.text.lengths import longest_answer
from tests.support.counts import counts
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
    for text, (ours,) in zip(TEXTS, model.hypotheses(TEXTS, loop_guard=False), strict=True):
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


@counts(60, 500)
def test_the_n_best_of_a_beam_and_their_scores_are_those_of_ctranslate2_but_near_ties(
    tmp_path: Path, count: int
) -> None:
    model = random_model()
    tokenizer = model.tokenizer
    write_ctranslate2(model, tmp_path / "model")
    peer = CTranslate2Runtime(tmp_path / "model", VersionFiles(tmp_path, tokenizer, model.network.max_length))
    rows = tokenizer.encode_source([pair.source for pair in phrasebook("fr-en", "test", count)])
    greedy, ours = (
        search_ids(model, rows, Search(tokenizer.bos_id, tokenizer.eos_id, beam)) for beam in (1, BEAM)
    )
    near_ties = 0
    for row, found, theirs in zip(rows, ours, peer.search(rows, BEAM), strict=True):
        if [answer.ids for answer in found] == [answer.ids for answer in theirs]:
            scores = [answer.score for answer in theirs]
            assert [answer.score for answer in found] == pytest.approx(scores, abs=1e-4)
            continue
        (answer,) = beam_answers(model, tokenizer, [row])
        print(f"margin {answer.margin:.1e}: {row}")
        assert answer.margin < NEAR_TIE
        near_ties += 1
    assert near_ties <= count / 20
    assert sum(one[0].ids != several[0].ids for one, several in zip(greedy, ours, strict=True)) > count / 20


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
