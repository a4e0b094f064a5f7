"""Recipes: what follows from the corpus, and every problem at once."""

import math

import pytest

from keras_transformer.models.network import Network
from keras_transformer.training.recipe import PHRASEBOOK, Recipe, remaining_defaults


def test_what_depends_on_the_size_follows_it() -> None:
    small, middle, large = (Recipe.for_corpus(pairs) for pairs in (49_999, 50_000, 2_000_000))
    work = [recipe.steps * recipe.batch_tokens for recipe in (small, middle, large)]
    assert work == sorted(set(work))
    assert small.steps <= middle.steps < large.steps
    assert small.batch_tokens < middle.batch_tokens == large.batch_tokens
    assert small.dropout > middle.dropout > large.dropout
    assert small.both_ways > middle.both_ways == large.both_ways == 0


def test_a_very_small_corpus_is_not_shown_for_an_hour() -> None:
    steps = {pairs: Recipe.for_corpus(pairs).steps for pairs in (10, 1000, 5000, 29_000, 49_999)}
    assert steps == {10: 1000, 1000: 1000, 5000: 2500, 29_000: 9000, 49_999: 9000}


def test_what_is_said_is_kept_and_what_hangs_on_it_follows() -> None:
    recipe = Recipe.for_corpus(2_000_000, steps=160, dropout=0.0)
    assert (recipe.steps, recipe.dropout) == (160, 0.0)
    assert (recipe.warmup_steps, recipe.validate_every) == (40, 10)  # a quarter, a sixteenth
    assert Recipe.for_corpus(10, steps=2).warmup_steps == 1


def test_averaging_the_last_validations_takes_the_place_of_the_moving_average() -> None:
    recipe = Recipe.for_corpus(1000, {"ema_decay": 0.99}, average_checkpoints=5)
    assert (recipe.ema_decay, recipe.average_checkpoints) == (0.0, 5)
    assert Recipe.for_corpus(1000, {"ema_decay": 0.99}).ema_decay == 0.99
    with pytest.raises(ValueError) as told:
        Recipe.for_corpus(1000, ema_decay=0.9, average_checkpoints=5)
    assert str(told.value) == (
        "ema_decay and average_checkpoints are two ways to average: leave one out; got 0.9 and 5"
    )


def test_what_is_said_goes_before_what_is_usual_and_that_before_what_the_size_gives() -> None:
    recipe = Recipe.for_corpus(10, {"dropout": 0.0, "steps": 450}, steps=160)
    assert (recipe.dropout, recipe.steps) == (0.0, 160)


def test_fewer_steps_than_the_default_have_a_warm_up_and_validations_that_fit_them() -> None:
    defaults = {"steps": 450, "warmup_steps": 100, "validate_every": 100}
    recipe = Recipe.for_corpus(10, defaults, steps=60)
    assert (recipe.warmup_steps, recipe.validate_every) == (15, 3)
    assert Recipe.for_corpus(10, defaults, steps=60, warmup_steps=7).warmup_steps == 7


def test_the_papers_warm_up_of_4000_steps_suits_a_corpus_that_is_trained_for_50000() -> None:
    assert Recipe.for_corpus(2_000_000, warmup_steps=4000).warmup_steps == 4000


def test_it_comes_back_from_what_is_kept_of_it() -> None:
    recipe = Recipe.for_corpus(1000, vocabulary_size=300, joint=False)
    assert Recipe.from_dict(recipe.as_dict()) == recipe
    with pytest.raises(ValueError, match=r"a recipe has no setps, wdith; it has architecture, preset"):
        Recipe.from_dict({**recipe.as_dict(), "wdith": 1, "setps": 2})


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(ValueError) as told:
        Recipe(
            preset="huge", steps=0, dropout=1.0, clip_norm=-1.0, peak_learning_rate=0.0, batch_tokens=64,
            seed=2**32, warmup_steps=1, vocabulary_size=9,
        )  # fmt: skip
    assert str(told.value).split("; ") == [
        "preset must be one of tiny, small, base, student",
        "got 'huge'",
        "steps must be a whole number of at least 1 and at most 10,000,000",
        "got 0",
        "seed must be a whole number of at least 0 and at most 4,294,967,295",
        "got 4294967296",
        "vocabulary_size must be a whole number of at least 261 and at most 262,144",
        "got 9",
        "dropout must be at least 0 and below 1",
        "got 1.0",
        "clip_norm must be at least 0 and finite",
        "got -1.0",
        "peak_learning_rate must be above 0 and at most 10",
        "got 0.0",
        "batch_tokens=64 cannot hold a sentence of max_tokens=128",
        "warmup_steps must be at most steps",
        "got 1 and 0",
    ]


@pytest.mark.parametrize(
    "name",
    [
        "dropout",
        "bpe_dropout",
        "both_ways",
        "upper_case",
        "typing_errors",
        "peak_learning_rate",
        "label_smoothing",
        "clip_norm",
        "ema_decay",
    ],
)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1.0, "0.5", None])
def test_no_field_takes_what_is_no_number_of_its_range(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{name} must .*; got {value!r}$"):
        Recipe(**{name: value})


def test_only_bpe_has_merges_to_skip() -> None:
    assert Recipe(bpe_dropout=0.1).bpe_dropout == 0.1
    with pytest.raises(ValueError) as told:
        Recipe(bpe_dropout=0.1, tokenizer="unigram")
    assert str(told.value) == "bpe_dropout skips merges, so it needs tokenizer='bpe'; got 0.1 and 'unigram'"


def test_both_directions_need_one_vocabulary() -> None:
    assert Recipe.for_corpus(1000).both_ways > Recipe.for_corpus(1000, joint=False).both_ways == 0
    with pytest.raises(ValueError) as told:
        Recipe(both_ways=0.3, joint=False)
    assert str(told.value) == (
        "both_ways trains both directions, which needs one vocabulary for both sides; got 0.3 and two"
    )


def test_a_few_percent_of_the_sentences_are_as_people_type_unless_that_is_turned_off() -> None:
    base = Network.from_preset("base")
    recipes = [Recipe.for_corpus(1000), Recipe.for_corpus(10**6), Recipe.for_corpus(1000, network=base)]
    for recipe in recipes:
        assert set(recipe.typing().values()) == {0.02}
    some = Recipe.for_corpus(1000, title_case=0.0, lower_case=0.1)
    assert list(some.typing().values()) == [0.02, 0.0, 0.1, 0.02, 0.02]
    book = Recipe.for_corpus(72_620, PHRASEBOOK).typing()  # whose few steps leave no room for more
    assert {kind: share for kind, share in book.items() if share} == {
        "lower_case": 0.12,
        "no_punctuation": 0.02,
    }
    # a recipe of an earlier version says nothing of it, and goes on as it began
    assert set(Recipe.from_run({"steps": 10, "warmup_steps": 1}).typing().values()) == {0.0}


def test_the_shares_of_what_people_type_leave_something_of_the_corpus() -> None:
    with pytest.raises(ValueError) as told:
        Recipe(upper_case=0.5, lower_case=0.5)
    assert str(told.value) == (
        "upper_case, lower_case are shares of the sentences: together they must be below 1; got 0.5, 0.5"
    )


def test_a_stored_recipe_may_have_former_names_but_not_both() -> None:
    assert Recipe.from_run({"tokens": 512, "peak": 1e-3}) == Recipe(batch_tokens=512, peak_learning_rate=1e-3)
    with pytest.raises(ValueError, match="a recipe has no tokens; it has architecture, "):
        Recipe.from_run({"tokens": 512, "batch_tokens": 4096})
    with pytest.raises(ValueError, match="a recipe has no peak; it has architecture, "):
        Recipe.for_corpus(1000, peak=1e-3)


def test_a_stored_recipe_is_an_object() -> None:
    with pytest.raises(TypeError, match=r"it holds \['tiny'\], not an object"):
        Recipe.from_run(["tiny"])


def test_a_run_with_more_steps_sees_both_directions_in_as_many_steps_as_before() -> None:
    recipe = Recipe(both_ways=0.33, steps=100, warmup_steps=10)
    longer = recipe.extended(100, 250)
    assert (longer.steps, longer.extended_at) == (250, 100)
    assert round(longer.both_ways * longer.steps) == 33
    with pytest.raises(ValueError, match="more than the 100 that the run has done; got 100"):
        recipe.extended(100, 100)


def test_too_few_more_steps_are_refused_with_the_fewest_that_will_do() -> None:
    """A run that patience ended may be over before its warm-up or its steps in both directions."""
    recipe = Recipe(both_ways=0.33, steps=9000, warmup_steps=1000, patience=2)
    with pytest.raises(ValueError, match=r"^steps must be at least 2,971: .*; got 2,500$"):
        recipe.extended(2000, 2500)
    with pytest.raises(ValueError, match=r"^steps must be at least 2,971: "):
        recipe.extended(2000, 2970)
    longer = recipe.extended(2000, 2971)
    assert round(longer.both_ways * longer.steps) == 2970
    rising = Recipe(steps=9000, warmup_steps=1000, patience=2)
    with pytest.raises(ValueError, match=r"^steps must be at least 1,000: .*; got 999$"):
        rising.extended(500, 999)
    assert rising.extended(500, 1000).steps == 1000
    assert Recipe(schedule="inverse-sqrt", steps=9000, warmup_steps=1000).extended(500, 999).steps == 999


def test_the_extension_of_a_run_inside_of_its_warm_up_goes_on_rising() -> None:
    extended = Recipe(steps=9000, warmup_steps=1000, patience=2).extended(500, 9500)
    assert extended.extension() == (
        "from step 500 the learning rate goes on with its rise to 0.005 at step 1,000, and follows the "
        "cosine that ends at step 9,500"
    )


def test_patience_begins_anew_with_more_steps() -> None:
    history = [{"step": step, "bleu": 9.0 - step, "loss": 1.0} for step in (1, 2, 3)]
    recipe = Recipe(patience=2, steps=10, warmup_steps=1)
    assert recipe.is_over(history)
    longer = recipe.extended(3, 20)
    assert not longer.is_over(history)
    assert longer.is_over([*history, *({"step": step, "bleu": 0.0, "loss": 1.0} for step in (4, 5))])


def test_the_extension_of_an_inverse_square_root_goes_on_falling() -> None:
    recipe = Recipe(schedule="inverse-sqrt", warmup_steps=100, steps=400, peak_learning_rate=0.004)
    # 0.004 sqrt(100 / 400), 0.004 sqrt(100 / 1600)
    assert recipe.extended(400, 1600).extension() == (
        "from step 400 to 1,600 the learning rate falls from 0.002 to 0.001"
    )


def test_going_on_from_a_network_is_gentle_and_keeps_its_dropout() -> None:
    base = Network.from_preset("base", dropout=0.2)
    recipe = Recipe.for_corpus(10_000, network=base)
    assert recipe.peak_learning_rate == pytest.approx(1.25e-4)
    assert (recipe.steps, recipe.warmup_steps, recipe.dropout, recipe.both_ways) == (500, 50, 0.2, 0.0)
    assert Recipe.for_corpus(10_000, network=base, steps=40).warmup_steps == 4


def test_what_the_user_set_replaces_the_defaults_that_belong_to_it() -> None:
    set_by_user = {"steps": 50, "average_checkpoints": 5, "dropout": 0.2}
    replaced = {"steps", "warmup_steps", "validate_every", "ema_decay", "dropout"}
    assert remaining_defaults(PHRASEBOOK, set_by_user).keys() == PHRASEBOOK.keys() - replaced


def test_a_model_of_few_positions_is_fine_tuned_on_sentences_cut_there() -> None:
    few = Network(1, 1, 16, 24, 2, max_length=64)
    assert Recipe.for_corpus(1000, network=few).max_tokens == 64
    assert Recipe.for_corpus(1000, network=few, max_tokens=40).max_tokens == 40
    assert Recipe.for_corpus(1000, network=Network(1, 1, 16, 24, 2)).max_tokens == 128
    with pytest.raises(ValueError, match=r"max_tokens must be at most 64, .* got 100"):
        Recipe.for_corpus(1000, network=few, max_tokens=100)
