"""Recipes: what follows from the corpus, and every problem at once."""

import math

import pytest

from keras_transformer.training.recipe import Recipe


def test_what_depends_on_the_size_follows_it() -> None:
    small, middle, large = (Recipe.for_corpus(pairs) for pairs in (49_999, 50_000, 2_000_000))
    work = [recipe.steps * recipe.tokens for recipe in (small, middle, large)]
    assert work == sorted(set(work))
    assert small.steps <= middle.steps < large.steps
    assert small.tokens < middle.tokens == large.tokens
    assert small.dropout > middle.dropout > large.dropout
    assert small.both_ways > middle.both_ways == large.both_ways == 0


def test_a_very_small_corpus_is_not_shown_for_an_hour() -> None:
    steps = {pairs: Recipe.for_corpus(pairs).steps for pairs in (10, 1000, 5000, 29_000, 49_999)}
    assert steps == {10: 1000, 1000: 1000, 5000: 2500, 29_000: 9000, 49_999: 9000}


def test_what_is_said_is_kept_and_what_hangs_on_it_follows() -> None:
    recipe = Recipe.for_corpus(2_000_000, steps=160, dropout=0.0)
    assert (recipe.steps, recipe.dropout) == (160, 0.0)
    assert (recipe.warm_up, recipe.validate_every) == (40, 10)  # a quarter, a sixteenth
    assert Recipe.for_corpus(10, steps=2).warm_up == 1


def test_averaging_the_last_validations_takes_the_place_of_the_moving_average() -> None:
    recipe = Recipe.for_corpus(1000, {"average": 0.99}, average_last=5)
    assert (recipe.average, recipe.average_last) == (0.0, 5)
    assert Recipe.for_corpus(1000, {"average": 0.99}).average == 0.99
    with pytest.raises(ValueError) as told:
        Recipe.for_corpus(1000, average=0.9, average_last=5)
    assert str(told.value) == (
        "average and average_last are two ways to average: leave one out; got 0.9 and 5"
    )


def test_what_is_said_goes_before_what_is_usual_and_that_before_what_the_size_gives() -> None:
    recipe = Recipe.for_corpus(10, {"dropout": 0.0, "steps": 450}, steps=160)
    assert (recipe.dropout, recipe.steps) == (0.0, 160)


def test_fewer_steps_than_usual_have_a_warm_up_and_validations_that_fit_them() -> None:
    usual = {"steps": 450, "warm_up": 100, "validate_every": 100}
    recipe = Recipe.for_corpus(10, usual, steps=60)
    assert (recipe.warm_up, recipe.validate_every) == (15, 3)
    assert Recipe.for_corpus(10, usual, steps=60, warm_up=7).warm_up == 7


def test_the_papers_warm_up_of_4000_steps_suits_a_corpus_that_is_trained_for_50000() -> None:
    assert Recipe.for_corpus(2_000_000, warm_up=4000).warm_up == 4000


def test_it_comes_back_from_what_is_kept_of_it() -> None:
    recipe = Recipe.for_corpus(1000, vocabulary=300, joint=False)
    assert Recipe.from_dict(recipe.as_dict()) == recipe
    with pytest.raises(ValueError, match=r"a recipe has no setps, wdith; it has preset, dropout"):
        Recipe.from_dict({**recipe.as_dict(), "wdith": 1, "setps": 2})


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(ValueError) as told:
        Recipe(
            preset="huge", steps=0, dropout=1.0, clip=-1.0, peak=0.0, tokens=64, seed=2**32, warm_up=1,
            vocabulary=9,
        )  # fmt: skip
    assert str(told.value).split("; ") == [
        "preset must be one of tiny, small, base",
        "got 'huge'",
        "steps must be a whole number of at least 1 and at most 10,000,000",
        "got 0",
        "seed must be a whole number of at least 0 and at most 4,294,967,295",
        "got 4294967296",
        "vocabulary must be a whole number of at least 261 and at most 262,144",
        "got 9",
        "dropout must be at least 0 and below 1",
        "got 1.0",
        "clip must be at least 0 and finite",
        "got -1.0",
        "peak must be above 0 and at most 10",
        "got 0.0",
        "a step of 64 tokens cannot hold a sentence of max_tokens=128",
        "warm_up must be at most steps",
        "got 1 and 0",
    ]


@pytest.mark.parametrize(
    "name", ["dropout", "piece_dropout", "both_ways", "peak", "smoothing", "clip", "average"]
)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1.0, "0.5", None])
def test_no_field_takes_what_is_no_number_of_its_range(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{name} must .*; got {value!r}$"):
        Recipe(**{name: value})


def test_joints_are_left_out_of_bpe_alone() -> None:
    assert Recipe(piece_dropout=0.1).piece_dropout == 0.1
    with pytest.raises(ValueError) as told:
        Recipe(piece_dropout=0.1, tokenizer="unigram")
    assert str(told.value) == "piece_dropout leaves out joints, which only bpe has; got 0.1 and 'unigram'"


def test_both_directions_need_one_vocabulary() -> None:
    assert Recipe.for_corpus(1000).both_ways > Recipe.for_corpus(1000, joint=False).both_ways == 0
    with pytest.raises(ValueError) as told:
        Recipe(both_ways=0.3, joint=False)
    assert str(told.value) == (
        "both_ways puts each language on either side, which needs one vocabulary for both; got 0.3 and two"
    )
