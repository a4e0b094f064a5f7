"""TensorFlow traces the training step of a model once, although the weights and Adam's variables are new.

A subclass, and a callback that unfreezes layers, work as with any other Keras model.
"""

from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer import TranslationModel
from keras_transformer.models import GPT2
from keras_transformer.models.network import Network

IDS = np.array([[5, 6, 7, 3]], np.int32)
PAIR = {"source": IDS, "target": IDS}
STEP_AND_RATE = 2  # variables of Adam beside two for each weight


def translation_model() -> TranslationModel:
    return TranslationModel(Network(1, 1, 8, 8, 2), 12)


def compile_(model: keras.Model) -> None:
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))


def language_model() -> GPT2:
    return GPT2.from_preset("tiny", vocabulary_size=12, num_layers=1, width=8, inner_width=8, num_heads=2)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="other backends trace in other ways")
@pytest.mark.parametrize(("make", "inputs"), [(translation_model, PAIR), (language_model, IDS)])
def test_a_step_is_traced_once_and_what_is_frozen_before_it_has_no_variables_in_adam(
    make: Any, inputs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make()
    compile_(model)
    model.decoder.trainable = False
    traced, step = [], model.train_step
    monkeypatch.setattr(model, "train_step", lambda batch: (traced.append(batch), step(batch))[1])
    model.fit(inputs, IDS, verbose=0)
    assert len(traced) == 1
    assert len(model.optimizer.variables) == STEP_AND_RATE + 2 * len(model.trainable_variables)


class Larger(TranslationModel):
    """A subclass with a layer that no `build` knows, and the signature that Keras documents."""

    def build(self, input_shape: Any) -> None:
        self.more = keras.layers.Dense(12)
        super().build(input_shape)

    def call(self, inputs: Any, **options: Any) -> Any:
        return self.more(super().call(inputs, **options))


def test_a_subclass_with_layers_of_its_own_is_trained() -> None:
    model = Larger(Network(1, 1, 8, 8, 2), 12)
    compile_(model)
    model.fit(PAIR, IDS, verbose=0)
    before = model.more.get_weights()[0]
    model.fit(PAIR, IDS, verbose=0)
    assert (model.more.get_weights()[0] != before).any()


def test_a_callback_unfreezes_layers_before_the_first_step() -> None:
    model = translation_model()
    compile_(model)
    model.decoder.trainable = False

    def unfreeze(_: Any) -> None:
        model.decoder.trainable = True

    begin = keras.callbacks.LambdaCallback(on_train_begin=unfreeze)
    model.fit(PAIR, IDS, verbose=0, callbacks=[begin])
    assert len(model.optimizer.variables) == STEP_AND_RATE + 2 * len(model.trainable_variables)
