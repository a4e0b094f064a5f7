"""The recurrent models: what their logits depend on, and the same tokens in ONNX Runtime as in the layers."""

from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding.scoring import Scorer
from keras_transformer.decoding.traced_search import Search
from keras_transformer.inference.answer import Answer
from keras_transformer.models import RecurrentTranslationModel
from keras_transformer.models.ensemble import TranslationEnsemble
from keras_transformer.models.network import Network
from keras_transformer.models.recurrent_network import RecurrentNetwork
from keras_transformer.models.translate import search_ids
from keras_transformer.text.padding import padded
from keras_transformer.text.tokenizer import Tokenizer
from tests.support.versions.random_weights import enliven

START, END, SOURCES, TARGETS = 2, 3, 40, 50
SOURCE = np.array([[5, 6, 7, END], [8, 9, END, 0]])
TARGET = np.array([[START, 10, 11], [START, 12, 0]])
#: Whether there is attention, and the layers of encoder and decoder.
NETWORKS = {"attention": (True, 2, 2), "attention, one layer": (True, 1, 1), "alone": (False, 1, 2)}


@pytest.fixture(scope="module", params=NETWORKS.values(), ids=NETWORKS)
def model(request: pytest.FixtureRequest) -> RecurrentTranslationModel:
    """Random weights, larger than a fresh model's, so that the answers depend on the source."""
    keras.utils.set_random_seed(3)
    attention, encoder, decoder = request.param
    network = RecurrentNetwork(attention, encoder, decoder, width=6, units=10)
    model = RecurrentTranslationModel(network, SOURCES, TARGETS)
    model.build()
    enliven(model)
    return model


def logits(model: RecurrentTranslationModel, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    return ops.convert_to_numpy(model({"source": source, "target": target}))


def test_padding_changes_no_logit_and_a_row_alone_has_its_own(model: RecurrentTranslationModel) -> None:
    whole = logits(model, SOURCE, TARGET)
    assert whole.shape == (2, 3, TARGETS)
    longer = logits(model, *(np.pad(ids, ((0, 0), (0, 3))) for ids in (SOURCE, TARGET)))
    np.testing.assert_allclose(longer[:, :3], whole, atol=1e-5)
    np.testing.assert_allclose(logits(model, SOURCE[1:, :3], TARGET[1:, :2]), whole[1:, :2], atol=1e-5)


def test_a_token_changes_no_logit_before_it_and_every_source_token_matters(
    model: RecurrentTranslationModel,
) -> None:
    whole = logits(model, SOURCE, TARGET)
    later = logits(model, SOURCE, np.array([[START, 10, 20], [START, 21, 0]]))
    np.testing.assert_allclose(later[0, :2], whole[0, :2], atol=1e-5)
    assert np.abs(later[0, 2] - whole[0, 2]).max() > 1e-3
    others = np.repeat(SOURCE[:1], 3, axis=0)
    others[range(3), range(3)] = 30
    assert (np.abs(logits(model, others, TARGET[[0, 0, 0]]) - whole[0]).max(axis=(1, 2)) > 1e-3).all()


def test_the_network_knows_the_number_of_parameters(model: RecurrentTranslationModel) -> None:
    assert model.count_params() == model.network.parameters(SOURCES, TARGETS)


def test_a_saved_model_has_the_same_bits(model: RecurrentTranslationModel, tmp_path: Path) -> None:
    model.save(tmp_path / "model.keras")
    loaded = RecurrentTranslationModel.load(tmp_path)
    np.testing.assert_array_equal(logits(loaded, SOURCE, TARGET), logits(model, SOURCE, TARGET))
    assert loaded.network == model.network


def rows() -> list[list[int]]:
    rng = np.random.default_rng(0)
    return [[*rng.integers(4, SOURCES, length).tolist(), END] for length in rng.integers(1, 12, 70)]


def ids_of(found: list[list[Answer]]) -> list[list[list[int]]]:
    return [[answer.ids for answer in answers] for answers in found]


@pytest.mark.parametrize("beam", [1, 3])
def test_answers_are_the_same_alone_and_as_likely_as_the_layers_say(
    model: RecurrentTranslationModel, beam: int
) -> None:
    search = Search(START, END, beam)
    together = search_ids(model, rows(), search)
    assert len({tuple(answers[0].ids) for answers in together}) > 20
    alone = [search_ids(model, [row], search)[0] for row in rows()[:12]]
    assert ids_of(together[:12]) == ids_of(alone)
    pairs = [(row, answer.ids) for row, answers in zip(rows(), together, strict=True) for answer in answers]
    layers = Scorer(model).log_probs(pairs, START)
    for answer, expected in zip([one for answers in together for one in answers], layers, strict=True):
        np.testing.assert_allclose(answer.log_probs, expected, atol=1e-4)


def test_a_greedy_answer_has_the_likeliest_token_everywhere(model: RecurrentTranslationModel) -> None:
    found = search_ids(model, rows()[:8], Search(START, END))
    answers = [answer.ids for (answer,) in found]
    likeliest = logits(model, padded(rows()[:8]), padded([[START, *ids[:-1]] for ids in answers])).argmax(-1)
    assert [ids[: len(answer)] for ids, answer in zip(likeliest.tolist(), answers, strict=True)] == answers


def test_text_is_translated_with_an_alignment_if_there_is_attention(tokenizer: Tokenizer) -> None:
    sizes = {"width": 6, "units": 10}
    found = {}
    for attention in (True, False):
        model = RecurrentTranslationModel.from_preset("tiny", tokenizer, attention=attention, **sizes)
        ((answer, _),) = model.hypotheses(["Je suis étudiant."], beam=2, max_tokens=5, loop_guard=False)
        found[attention] = answer
        translated = model.translate(["Je suis étudiant.", ""])
        assert TranslationEnsemble([model, model]).translate(["Je suis étudiant.", ""]) == translated
    length = len(tokenizer.encode_source(["Je suis étudiant."])[0])
    assert len(found[True].alignment) == len(found[True].log_probs)
    assert all(0 <= position < length for position in found[True].alignment)
    assert found[False].alignment == []


def test_new_weights_give_new_answers(tokenizer: Tokenizer) -> None:
    model = RecurrentTranslationModel.from_preset("tiny", tokenizer, width=6, units=10)
    before = search_ids(model, rows()[:4], Search(START, END))
    enliven(model)
    after = search_ids(model, rows()[:4], Search(START, END))
    assert ids_of(before) != ids_of(after)


def test_a_subclass_that_the_graphs_do_not_know_is_refused_with_its_name() -> None:
    class Other(RecurrentTranslationModel):
        pass

    model = Other(RecurrentNetwork(width=6, units=10), SOURCES)
    model.build()
    with pytest.raises(ValueError, match="Other is decoded with ONNX graphs alone"):
        search_ids(model, rows()[:1], Search(START, END))


def test_a_network_out_of_range_is_refused_with_every_problem() -> None:
    with pytest.raises(ValueError, match=r"width must be .* got 0; dropout must be .* got 1"):
        RecurrentNetwork(width=0, dropout=1.0)
    with pytest.raises(ValueError, match=r"units must be even: .* got 7"):
        RecurrentNetwork(units=7)
    with pytest.raises(ValueError, match="attention must be true or false; got 1"):
        RecurrentNetwork(attention=1)
    with pytest.raises(ValueError, match="there is no preset 'student'; there are tiny, small, base"):
        RecurrentNetwork.from_preset("student")
    with pytest.raises(TypeError, match="network must be a RecurrentNetwork; got Network"):
        RecurrentTranslationModel(Network(), SOURCES)


@pytest.mark.parametrize("attention", [True, False])
@pytest.mark.parametrize("preset", ["tiny", "small"])
def test_a_preset_has_about_as_many_parameters_as_the_transformer_of_its_name(
    preset: str, attention: bool
) -> None:
    network = RecurrentNetwork.from_preset(preset, attention=attention, dropout=0.2)
    assert network.preset == preset
    ratio = network.parameters(4000) / Network.from_preset(preset).parameters(4000)
    assert 0.98 < ratio < 1.02


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="Keras exports through TensorFlow")
def test_it_is_exported_by_keras(tmp_path: Path) -> None:
    model = RecurrentTranslationModel(RecurrentNetwork(width=6, units=10), SOURCES)
    model.build()
    model.export(tmp_path / "saved", verbose=False)
    assert (tmp_path / "saved" / "saved_model.pb").exists()
