"""What model.fit reads, and that accumulated micro-batches are the one big batch."""

from itertools import islice
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer import TranslationModel
from keras_transformer.models.network import Network
from keras_transformer.text.buckets import BatchPlan
from keras_transformer.text.corpus import Pair
from keras_transformer.text.token_store import TokenStore
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.data.dataset import dataset, shifted
from keras_transformer.training.data.stages import Joined, Stage, Turned
from keras_transformer.training.loss import LabelSmoothedCrossEntropy
from keras_transformer.training.recipe import Recipe
from keras_transformer.training.trainer import optimizer

MICRO_BATCHES = 4


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair], tokenizer: Tokenizer) -> TokenStore:
    return TokenStore.write(tmp_path_factory.mktemp("store"), pairs, tokenizer)


@pytest.fixture(scope="module")
def stage(store: TokenStore) -> Stage:
    return Stage(store, BatchPlan(store.lengths(), 256, seed=5, shapes=3))


def test_the_decoder_reads_the_labels_one_step_late() -> None:
    labels = np.array([[7, 8, 3], [9, 3, 0], [3, 0, 0]], np.int32)
    assert shifted(labels, 2).tolist() == [[2, 7, 8], [2, 9, 0], [2, 0, 0]]


def test_it_is_the_plans_batches_with_their_ids(stage: Stage) -> None:
    store, plan, _ = stage
    for (inputs, labels), (bucket, indices) in zip(
        dataset([stage], 2).take(5).as_numpy_iterator(), plan.batches(), strict=False
    ):
        assert inputs["source"].tolist() == store.rows(0, indices, bucket.source_length).tolist()
        assert labels.tolist() == store.rows(1, indices, bucket.target_length).tolist()
        assert inputs["target"].tolist() == shifted(labels, 2).tolist()


def test_a_training_ends_at_its_last_step_without_a_wait_for_tuning(stage: Stage) -> None:
    assert dataset([stage], 2).options().autotune.enabled is False


@pytest.mark.parametrize("start", [2, 3, 4])
@pytest.mark.parametrize("batches", [1, 3])
def test_it_goes_on_from_any_step_of_any_stage(
    store: TokenStore, stage: Stage, batches: int, start: int
) -> None:
    both = Joined(store, Turned(store))
    stages = [Stage(both, BatchPlan(both.lengths(), 256, seed=5, shapes=3), 3), stage]
    whole = list(dataset(stages, 2, 0, batches).take(7 * batches).as_numpy_iterator())
    tail = list(dataset(stages, 2, start, batches).take((7 - start) * batches).as_numpy_iterator())
    for one, other in zip(whole[start * batches :], tail, strict=True):
        keras.tree.map_structure(np.testing.assert_array_equal, one, other)


def test_a_stage_ends_after_its_steps_and_the_next_begins_with_its_own_first_batch(
    store: TokenStore, stage: Stage
) -> None:
    stages = [Stage(Joined(store, Turned(store)), stage.plan, 3), stage]
    later = dataset(stages, 2, gradient_accumulation_steps=2).skip(3 * 2).take(2).as_numpy_iterator()
    alone = dataset([stage], 2, gradient_accumulation_steps=2).take(2).as_numpy_iterator()
    for one, other in zip(later, alone, strict=True):
        keras.tree.map_structure(np.testing.assert_array_equal, one, other)


def test_the_weights_of_a_step_say_each_of_its_tokens_once(stage: Stage) -> None:
    group = list(
        dataset([stage], 2, gradient_accumulation_steps=MICRO_BATCHES).take(MICRO_BATCHES).as_numpy_iterator()
    )
    tokens = [np.count_nonzero(labels) for _, labels, _ in group]
    assert len(set(tokens)) == MICRO_BATCHES  # uneven
    for _, labels, weights in group:
        # the optimizer averages over 4 micro-batches: 4 / all tokens becomes 1 / all tokens
        expected = np.where(labels != 0, np.float32(MICRO_BATCHES / sum(tokens)), 0)
        np.testing.assert_array_equal(weights, expected)


def stepped(
    model: TranslationModel, data: Any, batches: int, recipe: Recipe, chosen: Any, traced: bool = True
) -> None:
    """One step of the model, as the trainer has it; or eagerly, which costs less for one batch."""
    reduction = "sum" if recipe.gradient_accumulation_steps > 1 else "sum_over_batch_size"
    loss = LabelSmoothedCrossEntropy(recipe.label_smoothing, reduction=reduction)
    model.compile(chosen, loss, jit_compile=False, run_eagerly=not traced)
    model.fit(data, steps_per_epoch=batches, shuffle=False, verbose=0)


def one_big_batch(stage: Stage) -> Any:
    store, plan, _ = stage
    indices = np.concatenate([indices for _, indices in islice(plan.batches(), MICRO_BATCHES)])
    longest = store.lengths()[indices].max(axis=0)
    labels = store.rows(1, indices, longest[1])
    return {"source": store.rows(0, indices, longest[0]), "target": shifted(labels, 2)}, labels


@pytest.mark.parametrize("embeddings", [1, 2])
def test_four_uneven_micro_batches_are_the_one_big_batch(
    embeddings: int, stage: Stage, tokenizer: Tokenizer
) -> None:
    network = Network(1, 1, 16, 32, 2, dropout=0.0)

    first = TranslationModel(network, *[tokenizer.target_size] * embeddings)
    first.build()
    before = first.get_weights()

    micro = Recipe(gradient_accumulation_steps=MICRO_BATCHES, dropout=0.0, clip_norm=0.5, label_smoothing=0.1)
    whole = Recipe(dropout=0.0, clip_norm=0.5, label_smoothing=0.1)
    micro_batches = dataset([stage], 2, gradient_accumulation_steps=MICRO_BATCHES)
    big_feed = tf.data.Dataset.from_tensors(one_big_batch(stage))

    # plain gradient descent: the weights themselves
    accumulated, at_once = first.with_policy("float32"), first.with_policy("float32")
    sgd = {"learning_rate": 1.0, "global_clipnorm": 0.5}
    stepped(
        accumulated,
        micro_batches,
        MICRO_BATCHES,
        micro,
        keras.optimizers.SGD(**sgd, gradient_accumulation_steps=MICRO_BATCHES),
    )
    stepped(at_once, big_feed, 1, whole, keras.optimizers.SGD(**sgd), traced=False)
    moved = 0.0
    for one, other, old in zip(accumulated.get_weights(), at_once.get_weights(), before, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)
        moved += float(np.square(other.astype(float) - old).sum())
    assert moved**0.5 == pytest.approx(0.5, rel=1e-4)  # rate 1 x the clipped norm: clipped once, as a whole

    # the recipe's Adam: its first moments, a tenth of that clipped gradient (beta_1 = 0.9). Not the weights:
    # after its first step they are the gradients' signs, and some gradients are zero but for rounding.
    by_recipe = first.with_policy("float32")
    stepped(by_recipe, micro_batches, MICRO_BATCHES, micro, optimizer(micro))
    moments = by_recipe.optimizer._momentums
    trained = zip(moments, at_once.trainable_variables, first.trainable_variables, strict=True)
    for moment, after, old in trained:
        np.testing.assert_allclose(np.asarray(moment), 0.1 * (old.numpy() - after.numpy()), rtol=0, atol=1e-6)
    assert int(by_recipe.optimizer.iterations) == 1
    # the schedule has gone on by one step, to the second of 1,000 of warm-up, and not by four
    assert float(by_recipe.optimizer.learning_rate) == pytest.approx(2 / 1000 * micro.peak_learning_rate)
