"""Learning rates, by hand and as the paper has them."""

import math

import keras
import numpy as np
import pytest

from keras_transformer.training.schedule import Cosine, InverseSquareRoot


def at(schedule: keras.optimizers.schedules.LearningRateSchedule, step: int) -> float:
    return float(schedule(step - 1))  # Keras hands over the steps that are done: 0 at the first


@pytest.mark.parametrize("schedule", [InverseSquareRoot(0.8, 4), Cosine(0.8, 4, 28)])
def test_it_warms_up_in_a_straight_line_to_its_peak(schedule: InverseSquareRoot | Cosine) -> None:
    np.testing.assert_allclose([at(schedule, step) for step in (1, 2, 3, 4)], [0.2, 0.4, 0.6, 0.8], rtol=1e-6)


def test_the_inverse_square_root_falls_to_half_at_four_times_the_warm_up() -> None:
    # peak x sqrt(4 / step): sqrt(4/16) = 1/2, sqrt(4/9) = 2/3
    found = [at(InverseSquareRoot(0.8, 4), step) for step in (16, 9, 400)]
    np.testing.assert_allclose(found, [0.4, 0.8 * 2 / 3, 0.08], rtol=1e-6)


def test_the_cosine_is_half_way_down_in_the_middle_and_nothing_at_the_end_and_after() -> None:
    # warm-up 4 of 28 steps: step 16 is half of the way, (1 + cos pi/2) / 2 = 1/2; step 10 a quarter of it,
    # (1 + cos pi/4) / 2 = 0.8535534
    found = [at(Cosine(0.8, 4, 28), step) for step in (10, 16, 28, 29, 1000)]
    np.testing.assert_allclose(found, [0.8 * 0.8535534, 0.4, 0, 0, 0], rtol=1e-6, atol=1e-7)


def test_an_extended_cosine_rises_again_and_follows_the_longer_one() -> None:
    longer, extended = Cosine(0.8, 4, 28), Cosine(0.8, 4, 28, extended_at=12)
    rates = [at(longer, step) for step in (13, 15, 16, 20, 28)]
    # 4 steps are a quarter of the 16 new ones: shares 1/4, 3/4, then all
    expected = [rates[0] / 4, rates[1] * 3 / 4, *rates[2:]]
    found = [at(extended, step) for step in (13, 15, 16, 20, 28)]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
    assert Cosine.from_config(extended.get_config()).extended_at == 12


def test_a_cosine_that_was_extended_before_its_peak_does_not_drop_there() -> None:
    """Patience may end a run inside of its warm-up."""
    longer, extended = Cosine(0.8, 10, 40), Cosine(0.8, 10, 40, extended_at=9)
    assert [at(extended, step) for step in range(1, 41)] == [at(longer, step) for step in range(1, 41)]


def test_the_papers_formula_is_the_inverse_square_root_with_its_own_peak() -> None:
    width, warmup_steps = 512, 4000
    schedule = InverseSquareRoot(peak_learning_rate=(width * warmup_steps) ** -0.5, warmup_steps=warmup_steps)
    for step in (1, 100, 3999, 4000, 4001, 16_000, 100_000):
        paper = width**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)
        assert at(schedule, step) == pytest.approx(paper, rel=1e-6)


def test_steps_of_several_batches_are_counted_by_the_batches_that_keras_hands_over() -> None:
    single, triple = Cosine(0.8, 4, 28), Cosine(0.8, 4, 28, gradient_accumulation_steps=3)
    for batch in (0, 1, 2, 3, 11, 12, 83, 84):
        assert float(triple(batch)) == float(single(batch // 3))


@pytest.mark.parametrize("schedule", [InverseSquareRoot(1e-3, 7, 4), Cosine(5e-3, 10, 100)])
def test_it_comes_back_from_its_config(schedule: InverseSquareRoot | Cosine) -> None:
    again = keras.optimizers.schedules.deserialize(keras.optimizers.schedules.serialize(schedule))
    assert type(again) is type(schedule)
    assert again.get_config() == schedule.get_config()
    assert [at(again, step) for step in (1, 50)] == [at(schedule, step) for step in (1, 50)]


def test_what_makes_no_schedule_is_refused_with_the_values() -> None:
    for peak, warmup_steps in ((0.0, 4), (-1.0, 4), (math.nan, 4), (1.0, 0)):
        with pytest.raises(ValueError, match=f"got {peak} and {warmup_steps}"):
            InverseSquareRoot(peak, warmup_steps)
    with pytest.raises(ValueError, match="steps must be at least warmup_steps; got 3 and 4"):
        Cosine(1.0, 4, 3)


def test_a_warm_up_of_all_steps_ends_at_the_peak() -> None:
    assert [at(Cosine(0.8, 4, 4), step) for step in (2, 4)] == pytest.approx([0.4, 0.8])
    assert at(Cosine(0.8, 1, 1), 1) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("name", "steps"), [("InverseSquareRoot", {}), ("Cosine", {"steps": 100})], ids=["inverse-sqrt", "cosine"]
)
def test_it_comes_back_from_the_config_of_an_earlier_version(name: str, steps: dict[str, int]) -> None:
    earlier = {
        "module": "keras_transformer.training.schedule",
        "class_name": name,
        "config": {"peak": 5e-3, "warm_up": 10, "every": 2, **steps},
        "registered_name": f"keras_transformer>{name}",
    }
    assert keras.optimizers.schedules.deserialize(earlier).get_config() == {
        "peak_learning_rate": 5e-3,
        "warmup_steps": 10,
        "gradient_accumulation_steps": 2,
        **steps,
        **({"extended_at": 0} if steps else {}),
    }
