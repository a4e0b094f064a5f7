"""The moving average by hand, the mean of several states beside NumPy."""

import keras
import numpy as np

from keras_transformer import TranslationModel
from keras_transformer.models.network import Network
from keras_transformer.training.averaging import MovingAverage, mean


def one_weight(value: float, dtype: str = "float32") -> keras.Model:
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False, dtype=dtype)])
    model.set_weights([np.array([[value]])])
    return model


def averages(callback: MovingAverage, *weights: float) -> list[float]:
    """The average after a batch that ended with each of these weights."""
    trained, found = one_weight(0.0), []
    callback.set_model(trained)
    for batch, weight in enumerate(weights):
        trained.set_weights([np.array([[weight]])])
        callback.on_train_batch_end(batch)
        found.append(float(callback.averaged.get_weights()[0][0, 0]))
    return found


def test_its_first_steps_by_hand() -> None:
    # decays (1 + n) / (10 + n): 2/11, 3/12, 4/13.
    # 11 x 2/11 + 0 x 9/11 = 2;  2 x 3/12 + 4 x 9/12 = 3.5;  3.5 x 4/13 + 0 x 9/13 = 14/13
    found = averages(MovingAverage(one_weight(11.0), 0.998), 0.0, 4.0, 0.0)
    np.testing.assert_allclose(found, [2.0, 3.5, 14 / 13], rtol=1e-6)


def test_the_decay_grows_no_further_than_it_was_set() -> None:
    # 2/11 is below 0.2, 3/12 is not: 11 -> 2 -> 2 x 0.2 -> 0.4 x 0.2
    found = averages(MovingAverage(one_weight(11.0), 0.2), 0.0, 0.0, 0.0)
    np.testing.assert_allclose(found, [2.0, 0.4, 0.08], rtol=1e-6)


def test_without_decay_it_is_the_weights() -> None:
    assert averages(MovingAverage(one_weight(11.0), 0.0), 3.0, 5.0) == [3.0, 5.0]


def test_a_step_of_several_batches_counts_once_at_its_end() -> None:
    found = averages(MovingAverage(one_weight(11.0), 0.998, every=3), 7.0, 7.0, 0.0, 9.0, 9.0, 4.0)
    np.testing.assert_allclose(found, [11.0, 11.0, 2.0, 2.0, 2.0, 3.5], rtol=1e-6)


def test_it_goes_on_where_a_run_was_left() -> None:
    whole = averages(MovingAverage(one_weight(11.0), 0.998, every=2), *[0.0, 1.0, 2.0, 3.0])
    assert averages(MovingAverage(one_weight(whole[1]), 0.998, done=1, every=2), 2.0, 3.0) == whole[2:]


def test_in_fit_it_follows_the_optimizer() -> None:
    # loss w x 1, gradient 1, rate 1: w = -1, then -2. Average of 0: 9/11 x -1; then 3/12 of it + 9/12 x -2
    model, averaged = one_weight(0.0), one_weight(0.0)
    model.compile(keras.optimizers.SGD(1.0), lambda _, said: said, jit_compile=False)
    model.fit(
        np.ones((2, 1)), np.zeros((2, 1)), batch_size=1, verbose=0, callbacks=[MovingAverage(averaged, 0.998)]
    )
    np.testing.assert_allclose(averaged.get_weights()[0], [[-9 / 11 * 3 / 12 - 2 * 9 / 12]], rtol=1e-6)


def test_under_mixed_precision_it_keeps_what_bfloat16_cannot_hold() -> None:
    model = TranslationModel(Network(1, 1, 8, 8, 2), 11, dtype="mixed_bfloat16")
    model.build()
    averaged = model.with_policy("float32")
    callback = MovingAverage(averaged, 0.0)
    callback.set_model(model)
    for weight in model.trainable_variables:
        weight.assign(np.full(weight.shape, 1.001, np.float32))  # bfloat16 knows 1 and 1.0078125
    callback.on_train_batch_end(0)
    assert averaged.dtype_policy.name == "float32"
    assert {weight.dtype for weight in averaged.weights if "seed" not in weight.name} == {"float32"}
    for weight in averaged.trainable_variables:
        np.testing.assert_array_equal(weight, np.float32(1.001))


# The mean of the last states


def test_the_mean_is_numpys_for_each_weight() -> None:
    random = np.random.default_rng(0)
    states = [[random.normal(size=(3, 4)).astype("f"), random.normal(size=5).astype("f")] for _ in range(7)]
    found = mean(iter(states))
    for place, weight in enumerate(found):
        assert weight.dtype == np.float32
        expected = np.mean([state[place].astype(np.float64) for state in states], axis=0)
        np.testing.assert_allclose(weight, expected, rtol=0, atol=1e-6)


def test_the_mean_is_summed_in_float32() -> None:
    # in float16 the sum stops at 2048, where 1 is less than half a step: 2048 / 4096 = 0.5
    assert mean([np.ones(1, np.float16)] for _ in range(4096))[0].tolist() == [1.0]


def test_the_mean_of_one_state_is_that_state_to_the_bit() -> None:
    state = [np.array([0.1, -3e-39, 3e38], np.float32)]
    assert mean([state])[0].tobytes() == state[0].tobytes()
