"""The loss is the formula, over real tokens alone, in a call and in model.fit."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer import TranslationModel
from keras_transformer.models.network import Network
from keras_transformer.training.loss import LabelSmoothedCrossEntropy, smoothed_cross_entropy

LN3 = math.log(3.0)


def token_losses(labels: object, logits: object, smoothing: float) -> np.ndarray:
    return smoothed_cross_entropy(
        tf.constant(labels), tf.constant(logits, tf.float32), tf.constant(smoothing)
    ).numpy()


def test_the_formula_by_hand() -> None:
    # softmax of [0, ln 3] is p = [1/4, 3/4]. Smoothing 0.2 over V = 2 gives label 1 q = [0.1, 0.9]:
    # -0.1 ln 1/4 - 0.9 ln 3/4 = 0.1386294 + 0.2589138 = 0.3975433
    found = token_losses([[1]], [[[0.0, LN3]]], 0.2)
    np.testing.assert_allclose(found, [[0.1 * math.log(4) - 0.9 * math.log(0.75)]], rtol=1e-6)
    np.testing.assert_allclose(found, [[0.3975433]], rtol=1e-6)


def test_without_smoothing_a_sure_answer_costs_nothing_and_with_it_it_costs_much() -> None:
    # p = [0, 1]: -ln 1 = 0; smoothed by 0.2, q = [0.1, 0.9] and -0.1 ln e^-50 = 5
    np.testing.assert_allclose(token_losses([[1]], [[[-50.0, 0.0]]], 0.0), [[0.0]], atol=1e-6)
    np.testing.assert_allclose(token_losses([[1]], [[[-50.0, 0.0]]], 0.2), [[5.0]], rtol=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
def test_of_equal_logits_it_is_the_logarithm_of_the_vocabulary(smoothing: float) -> None:
    np.testing.assert_allclose(
        token_losses([[1, 5]], np.full((1, 2, 7), 3.0), smoothing), math.log(7), rtol=1e-6
    )


def test_without_smoothing_it_is_keras_cross_entropy() -> None:
    random = np.random.default_rng(0)
    labels, logits = random.integers(1, 9, (3, 5)), random.normal(0, 4, (3, 5, 9))
    keras_loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
    np.testing.assert_allclose(
        token_losses(labels, logits, 0.0), keras_loss(labels, logits.astype("float32")), rtol=1e-5
    )


def test_padding_counts_for_nothing_whatever_its_logits() -> None:
    found = token_losses([[1, 0, 2, 0]], [[[0.0] * 4, [1e9, 0, 0, 0], [0.0] * 4, [math.nan] * 4]], 0.1)
    np.testing.assert_allclose(found, [[math.log(4), 0, math.log(4), 0]], rtol=1e-6)


def test_the_gradient_is_what_is_said_less_what_is_wanted_and_finite_at_the_extremes() -> None:
    logits = tf.Variable([[[0.0, LN3], [1e4, -1e4], [3e38, -3e38], [0.0, 0.0]]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(smoothed_cross_entropy(tf.constant([[1, 1, 1, 0]]), logits, tf.constant(0.2)))
    gradient = tape.gradient(loss, logits).numpy()
    # p - q: [1/4, 3/4] - [0.1, 0.9]; where p is [1, 0]: [1, 0] - [0.1, 0.9]; nothing for the padding
    np.testing.assert_allclose(gradient, [[[0.15, -0.15], [0.9, -0.9], [0.9, -0.9], [0, 0]]], atol=1e-6)


def test_bfloat16_logits_are_summed_in_float32() -> None:
    logits = tf.cast(tf.zeros((1, 1, 1000)), tf.bfloat16)
    found = smoothed_cross_entropy(tf.constant([[1]]), logits, tf.constant(0.1))
    assert found.dtype == tf.float32
    np.testing.assert_allclose(found, [[math.log(1000)]], rtol=1e-6)  # bfloat16 would say 6.90625


def ragged_batch() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Three rows of 1, 4 and 2 real tokens."""
    labels = np.array([[3, 0, 0, 0], [5, 6, 7, 3], [8, 3, 0, 0]], np.int32)
    target = np.array([[2, 0, 0, 0], [2, 5, 6, 7], [2, 8, 0, 0]], np.int32)
    source = np.array([[4, 3, 0], [4, 5, 3], [3, 0, 0]], np.int32)
    return {"source": source, "target": target}, labels


@pytest.mark.parametrize(("policy", "more_padding"), [("float32", 0), ("float32", 5), ("mixed_bfloat16", 5)])
def test_fit_and_evaluate_report_the_mean_over_real_tokens(policy: str, more_padding: int) -> None:
    network = Network(1, 1, 8, 8, 2, dropout=0.0)
    model = TranslationModel(network, 11, seed=1, dtype=policy)
    model.build()
    inputs, labels = ragged_batch()
    logits = np.asarray(tf.cast(model(inputs), tf.float32))
    real = token_losses(labels, logits, 0.1)[labels != 0]
    assert len(real) == 7
    wide = {name: np.pad(ids, ((0, 0), (0, more_padding))) for name, ids in inputs.items()}
    labels = np.pad(labels, ((0, 0), (0, more_padding)))
    model.compile(keras.optimizers.SGD(0.0), LabelSmoothedCrossEntropy(0.1), jit_compile=False)
    tolerance = {"rtol": 1e-5 if policy == "float32" else 1e-2}  # bfloat16 has 8 bits
    np.testing.assert_allclose(model.evaluate(wide, labels, verbose=0), real.mean(), **tolerance)
    history = model.fit(wide, labels, verbose=0).history
    np.testing.assert_allclose(history["loss"], [real.mean()], **tolerance)


def test_it_comes_back_from_its_config() -> None:
    loss = LabelSmoothedCrossEntropy(0.25, reduction="sum")
    again = keras.losses.deserialize(keras.losses.serialize(loss))
    assert isinstance(again, LabelSmoothedCrossEntropy)
    assert (again.label_smoothing, again.reduction, again.name) == (0.25, "sum", "cross_entropy")


def test_it_comes_back_from_the_config_of_an_earlier_version() -> None:
    earlier = {
        "module": "keras_transformer.training.loss",
        "class_name": "LabelSmoothedCrossEntropy",
        "config": {"name": "cross_entropy", "reduction": "sum", "smoothing": 0.25},
        "registered_name": "keras_transformer>LabelSmoothedCrossEntropy",
    }
    assert keras.losses.deserialize(earlier).get_config() == {
        "name": "cross_entropy",
        "reduction": "sum",
        "label_smoothing": 0.25,
    }


@pytest.mark.parametrize("smoothing", [-0.1, 1.0, math.nan])
def test_an_impossible_smoothing_is_refused(smoothing: float) -> None:
    with pytest.raises(ValueError, match=f"label_smoothing must be at least 0 and below 1; got {smoothing}"):
        LabelSmoothedCrossEntropy(smoothing)
