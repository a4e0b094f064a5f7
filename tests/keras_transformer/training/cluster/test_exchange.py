"""What the workers exchange, and where in a step of Keras' optimizer. TensorFlow's cluster is not started."""

from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer import TranslationModel
from keras_transformer.models.network import Network
from keras_transformer.training.cluster import exchange
from keras_transformer.training.cluster.exchange import ExchangingAdam, fingerprint, offset_seeds


@pytest.mark.parametrize("batches", [1, 2])
def test_keras_hands_over_the_gradient_of_a_step_after_accumulation_and_before_clipping(
    batches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def mean(gradients: Any, shapes: Any, size: int) -> Any:
        seen.append(([np.asarray(gradient).tolist() for gradient in gradients], list(shapes), size))
        return [10 * gradient for gradient in gradients]

    monkeypatch.setattr(exchange, "mean_over_workers", mean)
    weight = keras.Variable(np.zeros(2, np.float32))
    adam = ExchangingAdam(
        3,
        learning_rate=1.0,
        global_clipnorm=1.0,
        gradient_accumulation_steps=batches if batches > 1 else None,
    )
    adam.build([weight])
    for gradient in ([3.0, 8.0], [9.0, 8.0])[-batches:]:
        adam.apply([keras.ops.convert_to_tensor(gradient)])
    # the mean of the batches: [6, 8], or [9, 8] alone; exchanged once, as 3 workers
    expected = [6.0, 8.0] if batches == 2 else [9.0, 8.0]
    assert seen == [([expected], [(2,)], 3)]
    # what comes back is clipped: a tenth (beta_1) of a vector of norm 1
    norm = float(np.linalg.norm(expected))
    np.testing.assert_allclose(
        np.asarray(adam._momentums[0]), 0.1 * np.array(expected) / norm, rtol=0, atol=1e-6
    )


def seeds(model: TranslationModel) -> list[tuple[int, ...]]:
    return [
        tuple(np.asarray(variable).tolist())
        for variable in model.non_trainable_variables
        if variable.name == "seed_generator_state"
    ]


def test_each_worker_has_dropout_of_its_own_that_follows_from_what_worker_0_saves() -> None:
    model = TranslationModel(Network(1, 1, 16, 32, 2, dropout=0.3), 50, seed=3)
    model.build()
    saved = seeds(model)
    offset_seeds(model, 0)
    assert seeds(model) == saved
    assert len(saved) > 2
    states = set(saved)
    for rank in (1, 2, 63):
        for variable, state in zip(
            (v for v in model.non_trainable_variables if v.name == "seed_generator_state"), saved, strict=True
        ):
            variable.assign(state)
        offset_seeds(model, rank)
        assert [drawn for _, drawn in seeds(model)] == [drawn for _, drawn in saved]
        assert states.isdisjoint(seeds(model))
        states |= set(seeds(model))


def test_one_bit_changes_a_fingerprint() -> None:
    values = [np.zeros((2, 3), np.float32), np.ones(4, np.float32)]
    before = fingerprint(values)
    assert fingerprint([value.copy() for value in values]) == before
    values[1][3] = np.nextafter(np.float32(1), np.float32(2))
    assert fingerprint(values) != before
