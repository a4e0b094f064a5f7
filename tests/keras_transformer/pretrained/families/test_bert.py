"""BERT and DistilBERT compute here what they compute in transformers, on every Keras backend."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.models import Bert, DistilBert, Llama, MaskedLanguageModel, TextClassifier
from keras_transformer.models.families.bert import BertNetwork
from keras_transformer.pretrained.directory import PretrainedError
from keras_transformer.text.subword_tokenizer import SubwordTokenizer
from tests.support.close import assert_close
from tests.support.damage import change
from tests.support.family_kinds import GOLDEN, PAIRS, TEXTS

KINDS = sorted(path.name for path in GOLDEN.glob("*bert*"))
HEADS = {
    "bert_sharded": MaskedLanguageModel,
    "bert_masked": MaskedLanguageModel,
    "bert_first_years": TextClassifier,
    "distilbert_masked": MaskedLanguageModel,
    "distilbert_classifier": TextClassifier,
}


class Golden:
    """A directory, the model of it without a head, and what transformers computed."""

    def __init__(self, name: str) -> None:
        self.directory = GOLDEN / name
        self.model = (DistilBert if name.startswith("distil") else Bert).from_pretrained(self.directory)
        self.expected = dict(np.load(self.directory / "expected.npz"))
        self.inputs = {key: self.expected[key] for key in ("ids", "token_types") if key in self.expected}


@pytest.fixture(scope="session")
def golden() -> Callable[[str], Golden]:
    made: dict[str, Golden] = {}
    return lambda name: made.get(name) or made.setdefault(name, Golden(name))


@pytest.mark.parametrize("name", KINDS)
def test_the_hidden_states_are_those_of_transformers_at_every_position(name: str, golden: Any) -> None:
    kind = golden(name)
    assert (kind.inputs["ids"] == 0).any()
    assert_close(kind.model(kind.inputs), kind.expected["hidden"])


@pytest.mark.parametrize("name", HEADS)
def test_the_logits_are_those_of_transformers(name: str, golden: Any) -> None:
    kind = golden(name)
    assert_close(HEADS[name].from_pretrained(kind.directory)(kind.inputs), kind.expected["logits"])


@pytest.mark.parametrize("name", KINDS)
def test_texts_and_pairs_have_the_ids_that_they_have_in_transformers(name: str, golden: Any) -> None:
    """From tokenizer.json, and from vocab.txt; a pair that is too long is shortened in the same places."""
    kind = golden(name)
    inputs = kind.model.inputs(TEXTS, PAIRS)
    ids = inputs["ids"] if isinstance(inputs, dict) else inputs
    np.testing.assert_array_equal(ids, kind.expected["text_ids"])
    if isinstance(inputs, dict):
        np.testing.assert_array_equal(inputs["token_types"], kind.expected["text_types"])


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (Bert, "bert"),
        (DistilBert, "distilbert_masked"),
        (MaskedLanguageModel, "bert_masked"),
        (TextClassifier, "distilbert_classifier"),
    ],
)
def test_a_saved_model_computes_the_same_bits_and_has_its_tokenizer(
    kind: Any, name: str, tmp_path: Path, golden: Any
) -> None:
    inputs = golden(name).inputs
    model = kind.from_pretrained(GOLDEN / name)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded) is kind
    np.testing.assert_array_equal(ops.convert_to_numpy(loaded(inputs)), ops.convert_to_numpy(model(inputs)))
    assert keras.tree.map_structure(np.array_equal, loaded.inputs(TEXTS), model.inputs(TEXTS))
    assert getattr(loaded, "labels", ()) == getattr(model, "labels", ())


def test_a_text_alone_has_the_vector_that_it_has_beside_longer_ones(golden: Any) -> None:
    model = golden("bert").model
    for pooling in ("mean", "class"):
        together = model.embed(TEXTS, pooling)
        alone = np.concatenate([model.embed([text], pooling) for text in TEXTS])
        np.testing.assert_allclose(together, alone, rtol=0, atol=1e-5)
    hidden = ops.convert_to_numpy(model(model.inputs(TEXTS[:1])))[0]
    np.testing.assert_allclose(model.embed(TEXTS[:1])[0], hidden.mean(axis=0), rtol=0, atol=1e-6)


def test_a_masked_token_is_filled_by_the_likeliest_pieces_of_the_whole_vocabulary(golden: Any) -> None:
    model = MaskedLanguageModel.from_pretrained(GOLDEN / "bert_masked")
    first, second = model.fill("the [MASK] [MASK].", count=100)
    assert sorted(token for token, _ in first) == sorted(token for token, _ in second)
    assert len(first) == 65
    assert 0.5 < sum(probability for _, probability in first) < 1  # the table has two rows for no token
    assert [probability for _, probability in first] == sorted((each for _, each in first), reverse=True)


def test_a_classifier_has_the_labels_of_its_directory(golden: Any) -> None:
    model = TextClassifier.from_pretrained(GOLDEN / "bert_first_years")
    assert model.labels == ("bad", "fair", "good")
    logits = ops.convert_to_numpy(model(model.inputs(TEXTS)))
    assert model.classify(TEXTS) == [model.labels[index] for index in logits.argmax(axis=-1)]


def test_a_new_classifier_keeps_the_encoder_and_the_pooler_of_the_directory(golden: Any) -> None:
    kind = golden("bert_sharded")
    model = TextClassifier.from_pretrained(kind.directory, labels=["no", "yes"])
    assert_close(model.encoder(kind.inputs), kind.expected["hidden"])
    first_years = TextClassifier.from_pretrained(GOLDEN / "bert_first_years", labels=["a", "b"])
    theirs = TextClassifier.from_pretrained(GOLDEN / "bert_first_years")
    same = [
        np.array_equal(*map(ops.convert_to_numpy, pair))
        for pair in zip(first_years.pooler.weights, theirs.pooler.weights, strict=True)
    ]
    assert all(same)
    assert ops.shape(first_years(kind.inputs)) == (4, 2)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"architectures": ["BertForTokenClassification"]}, r"architectures must be .*ForSequenceClass"),
        ({"problem_type": "multi_label_classification"}, "problem_type must be single_label"),
        ({"problem_type": "regression"}, "problem_type must be single_label"),
        ({"id2label": {"0": "score"}}, "with one it is a regression"),
    ],
)
def test_a_head_that_does_not_choose_a_class_of_a_text_is_refused(
    options: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    shutil.copytree(GOLDEN / "bert_first_years", tmp_path / "model")
    change("config.json", **options)(tmp_path / "model")
    with pytest.raises(PretrainedError, match=reason):
        TextClassifier.from_pretrained(tmp_path / "model")
    if "id2label" not in options:
        assert TextClassifier.from_pretrained(tmp_path / "model", labels=["a", "b"]).labels == ("a", "b")


def test_a_single_text_is_no_list_and_no_texts_have_no_results(golden: Any) -> None:
    bert, classifier = golden("bert").model, TextClassifier.from_pretrained(GOLDEN / "bert_first_years")
    for function in (bert.inputs, bert.embed, classifier.inputs, classifier.classify):
        with pytest.raises(TypeError, match="must be a list of texts; got 'text'"):
            function("text")
    assert bert.embed([]).shape == (0, 18)
    assert classifier.classify([]) == []


def test_the_network_hides_what_its_tokenizer_pads_with() -> None:
    definition = Bert.from_pretrained(GOLDEN / "bert").known_tokenizer().definition
    tokenizer = SubwordTokenizer(definition, pad_id=3)
    sizes = {"width": 8, "num_heads": 2, "num_layers": 1}
    assert Bert.from_preset("tiny", tokenizer, **sizes).network.pad_id == 3
    assert Llama.from_preset("tiny", tokenizer, **sizes).tokenizer is tokenizer  # a network without padding
    with pytest.raises(ValueError, match="the network has pad_id=0; the tokenizer has pad_id=3"):
        Bert.from_preset("tiny", tokenizer, **sizes, pad_id=0)
    with pytest.raises(ValueError, match="the network has pad_id=0; the tokenizer has pad_id=3"):
        Bert(BertNetwork(vocabulary_size=67), tokenizer)


def test_a_directory_without_the_head_that_is_asked_for_is_refused() -> None:
    with pytest.raises(PretrainedError, match=r"labels=\[\.\.\.\]"):
        TextClassifier.from_pretrained(GOLDEN / "bert_masked")
    with pytest.raises(PretrainedError, match=r"cls\.predictions\.transform\.dense\.weight is missing"):
        MaskedLanguageModel.from_pretrained(GOLDEN / "bert")
    with pytest.raises(PretrainedError, match="model_type must be distilbert; got 'bert'"):
        DistilBert.from_pretrained(GOLDEN / "bert")


@pytest.mark.skipif(keras.backend.backend() == "tensorflow", reason="the tutorials train on TensorFlow")
def test_a_preset_learns_which_of_two_words_comes_first() -> None:
    """Nothing but compile and fit; a learned position is what tells the order."""
    keras.utils.set_random_seed(1)
    encoder = Bert.from_preset(
        "tiny", vocabulary_size=10, width=16, num_heads=2, inner_width=32, dropout=0.0, attention_dropout=0.0,
        num_layers=1, max_length=8,
    )  # fmt: skip
    model = TextClassifier(encoder, labels=["before", "after"], dropout=0.0)
    rng = np.random.default_rng(1)
    classes = rng.integers(2, size=512)
    ids = np.where(classes[:, None], [[2, 5, 6, 3, 0]], [[2, 6, 5, 3, 0]])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-2), loss, metrics=["accuracy"])
    history = model.fit(ids, classes, batch_size=64, epochs=3, verbose=0)
    assert history.history["accuracy"][-1] > 0.95


def test_a_layer_that_follows_hides_the_padding() -> None:
    bert = Bert.from_preset("tiny", vocabulary_size=10, width=8, num_heads=2, num_layers=1)
    ids = keras.Input((None,), dtype="int32")
    model = keras.Model(ids, keras.layers.GlobalAveragePooling1D()(bert(ids)))
    rows = np.array([[2, 5, 6, 3, 0, 0]])
    np.testing.assert_allclose(
        ops.convert_to_numpy(model(rows)), ops.convert_to_numpy(model(rows[:, :4])), rtol=0, atol=1e-6
    )


def test_inputs_that_a_network_does_not_have_are_named() -> None:
    network = DistilBert.from_preset("base", vocabulary_size=9, width=8, num_heads=2, num_layers=1)
    with pytest.raises(ValueError, match="'token_types'"):
        network({"ids": np.ones((1, 2), "int32"), "token_types": np.zeros((1, 2), "int32")})
    with pytest.raises(ValueError, match="has no tokenizer"):
        network.embed(["a text"])
    with pytest.raises(ValueError, match=r"width must be divisible by num_heads; got 10 and 4"):
        Bert.from_preset("tiny", vocabulary_size=9, width=10, num_heads=4)
    with pytest.raises(ValueError, match="there is no preset 'gigantic'; there are tiny, mini"):
        Bert.from_preset("gigantic", vocabulary_size=9)
