"""Pairs of texts are what fit can be given: any iterable of them, or a tf.data.Dataset."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer import TranslationModel
from keras_transformer.models.network import Network
from keras_transformer.text.corpus import Pair
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.data.dataset import shifted
from keras_transformer.training.data.text_batches import text_batches
from keras_transformer.training.loss import LabelSmoothedCrossEntropy


def texts(epoch: tf.data.Dataset, tokenizer: Tokenizer) -> list[tuple[str, str]]:
    """What one pass shows, as text, in its order."""
    return [
        pair
        for inputs, labels in epoch.as_numpy_iterator()
        for pair in zip(
            tokenizer.decode_source(inputs["source"]), tokenizer.decode_target(labels), strict=True
        )
    ]


def test_each_pass_shows_every_pair_once_in_another_order(pairs: list[Pair], tokenizer: Tokenizer) -> None:
    batches = text_batches(pairs, tokenizer, batch_tokens=512)
    first, second = texts(batches, tokenizer), texts(batches, tokenizer)
    assert sorted(first) == sorted(second) == sorted(map(tuple, pairs))
    assert first != second
    again = text_batches(pairs, tokenizer, batch_tokens=512)
    assert [texts(again, tokenizer), texts(again, tokenizer)] == [first, second]
    assert texts(text_batches(pairs, tokenizer, batch_tokens=512, seed=1), tokenizer) != first


def test_a_batch_is_padded_ids_within_the_budget_and_the_decoder_reads_the_labels_one_step_late(
    pairs: list[Pair], tokenizer: Tokenizer
) -> None:
    batches = text_batches(pairs, tokenizer, batch_tokens=512)
    shown = list(batches.as_numpy_iterator())
    assert len(shown) == int(batches.cardinality())
    for inputs, labels in shown:
        assert max(inputs["source"].size, labels.size) <= 512
        assert inputs["target"].tolist() == shifted(labels, tokenizer.bos_id).tolist()
    assert 1 < len({labels.shape for _, labels in shown}) <= 16  # 8 shapes, and the short last batch of each


def test_fit_returns_at_its_end_without_a_wait_for_tuning(pairs: list[Pair], tokenizer: Tokenizer) -> None:
    assert text_batches(pairs, tokenizer, batch_tokens=512).options().autotune.enabled is False


def test_longer_texts_are_cut(pairs: list[Pair], tokenizer: Tokenizer) -> None:
    shown = text_batches(pairs, tokenizer, batch_tokens=512, max_tokens=6).as_numpy_iterator()
    assert max(max(inputs["source"].shape[1], labels.shape[1]) for inputs, labels in shown) == 6


@pytest.mark.parametrize(
    "given",
    [
        lambda pairs: [tuple(pair) for pair in pairs],
        lambda pairs: (list(pair) for pair in pairs),
        lambda pairs: zip(*zip(*pairs, strict=True), strict=True),
        np.array,
        lambda pairs: tf.data.Dataset.from_tensor_slices(tuple(map(list, zip(*pairs, strict=True)))),
        lambda pairs: tf.data.Dataset.from_tensor_slices([list(pair) for pair in pairs]),
    ],
    ids=["list", "generator", "zip", "array", "dataset of pairs", "dataset of vectors"],
)
def test_pairs_may_come_as_any_iterable_or_dataset(
    given: object, pairs: list[Pair], tokenizer: Tokenizer
) -> None:
    said = texts(text_batches(given(pairs), tokenizer, batch_tokens=512), tokenizer)
    assert sorted(said) == sorted(map(tuple, pairs))


def test_fit_learns_from_texts_and_evaluate_takes_them_too() -> None:
    learned = [("un chat", "a cat"), ("un chien", "a dog"), ("deux chats", "two cats")] * 8
    tokenizer = Tokenizer.train(learned, 280)
    keras.utils.set_random_seed(0)
    model = TranslationModel(
        Network(1, 1, 32, 32, 2, dropout=0.0), tokenizer.source_size, tokenizer=tokenizer
    )
    model.build()
    model.compile(keras.optimizers.Adam(5e-3), LabelSmoothedCrossEntropy(0.0))
    held_out = text_batches(learned[:3], model.tokenizer, batch_tokens=128)
    assert model.evaluate(held_out, verbose=0) > 2
    history = model.fit(
        text_batches(learned * 20, model.tokenizer, batch_tokens=128),
        validation_data=held_out,
        epochs=2,
        shuffle=False,
        verbose=0,
    ).history
    assert history["val_loss"][-1] < 0.1
    assert model.evaluate(held_out, verbose=0) == pytest.approx(history["val_loss"][-1], rel=1e-5)
    assert model.translate(["un chien", "deux chats"]) == ["a dog", "two cats"]


# What a first attempt gets wrong


@pytest.mark.parametrize(
    ("wrong", "shown"),
    [
        (["Merci.", "Oui."], "number 1 is 'Merci.'"),
        ([("Oui.", "Yes."), ("Non.", "No.", "Nein.")], "number 2 is ('Non.', 'No.', 'Nein.')"),
        ((["Oui.", "Non.", "Si."], ["Yes.", "No.", "Yes."]), "number 1 is ['Oui.', 'Non.', 'Si.']"),
        ([{"fr": "Oui.", "en": "Yes."}], "number 1 is {'fr': 'Oui.', 'en': 'Yes.'}"),
        ([("Oui.", None)], "number 1 is ('Oui.', None)"),
        ([(5, 7)], "number 1 is (5, 7)"),
        ([12], "number 1 is 12"),
    ],
)
def test_what_is_no_pair_of_texts_is_told_with_its_number(
    wrong: object, shown: str, tokenizer: Tokenizer
) -> None:
    with pytest.raises(ValueError) as told:
        text_batches(wrong, tokenizer)
    assert str(told.value) == (
        f'a pair must be two texts, as in ("Merci.", "Thanks."); {shown}. '
        "Two lists become pairs with zip(sources, targets), a batched dataset with .unbatch()."
    )


def test_a_batched_dataset_is_told(tokenizer: Tokenizer) -> None:
    batched = tf.data.Dataset.from_tensor_slices((["Oui.", "Non."], ["Yes.", "No."])).batch(2)
    with pytest.raises(ValueError, match=r"number 1 is \(array\(.*a batched dataset with \.unbatch\(\)\."):
        text_batches(batched, tokenizer)
    assert len(texts(text_batches(batched.unbatch(), tokenizer), tokenizer)) == 2


def test_pairs_without_end_are_told(tokenizer: Tokenizer) -> None:
    endless = tf.data.Dataset.from_tensors(("Oui.", "Yes.")).repeat()
    with pytest.raises(ValueError, match=r"never end: leave out \.repeat\(\)"):
        text_batches(endless, tokenizer)


def test_no_pairs_at_all_are_told(pairs: list[Pair], tokenizer: Tokenizer) -> None:
    read_once = iter(pairs)
    text_batches(read_once, tokenizer)
    for nothing in ([], read_once):
        with pytest.raises(ValueError, match="there are no pairs"):
            text_batches(nothing, tokenizer)


def test_a_model_without_a_tokenizer_is_told(pairs: list[Pair]) -> None:
    with pytest.raises(
        TypeError, match=r"needs the tokenizer of the model; got None\. Create the model with"
    ):
        text_batches(pairs, None)


def test_a_budget_that_a_sentence_does_not_fit_in_is_told(tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match=r"a batch of 3 tokens cannot hold the longest sentence"):
        text_batches([("Oui, bien sûr.", "Yes, of course.")], tokenizer, batch_tokens=3)
