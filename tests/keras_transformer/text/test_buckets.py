"""Plans of batches: nothing lost, nothing over the budget, little padding, the same from any point on."""

from hashlib import sha256
from itertools import combinations, islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.text import buckets
from keras_transformer.text.buckets import BatchPlan

LENGTHS = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=80)
SEEDS = st.integers(0, 2**32 - 1)


def corpus(lengths: list[tuple[int, int]]) -> np.ndarray:
    return np.array(lengths, np.int32)


def planned(plan: BatchPlan, count: int, start: int = 0) -> list[tuple[tuple[int, int, int], list[int]]]:
    return [(tuple(bucket), indices.tolist()) for bucket, indices in islice(plan.batches(start), count)]


@given(LENGTHS, st.integers(40, 400), SEEDS)
@settings(deadline=None)
def test_after_each_epoch_every_pair_was_shown_once_more_but_for_those_that_wait(
    lengths: list[tuple[int, int]], tokens: int, seed: int
) -> None:
    plan = BatchPlan(corpus(lengths), tokens, seed)
    members: dict[int, set[int]] = {}
    for bucket, indices in islice(plan.batches(), 400):
        members.setdefault(plan.buckets.index(bucket), set()).update(indices.tolist())
    assert sorted(pair for pairs in members.values() for pair in pairs) == list(range(len(lengths)))
    for epochs in (1, 2, 5):
        # a bucket has had epochs x its pairs to show, and of them only a part of one batch can wait
        full = {number: epochs * len(pairs) // plan.buckets[number].rows for number, pairs in members.items()}
        shown = np.zeros(len(lengths), int)
        for _, indices in islice(plan.batches(), sum(full.values())):
            np.add.at(shown, indices, 1)
        assert set(shown) <= {epochs - 1, epochs}
        assert (shown == epochs - 1).sum() == sum(
            epochs * len(pairs) - full[number] * plan.buckets[number].rows
            for number, pairs in members.items()
        )


@given(LENGTHS, st.integers(40, 400), SEEDS, st.integers(1, 12))
@settings(deadline=None)
def test_each_batch_is_full_and_within_its_shape_and_the_budget(
    lengths: list[tuple[int, int]], tokens: int, seed: int, shapes: int
) -> None:
    plan = BatchPlan(corpus(lengths), tokens, seed, shapes)
    assert len(plan.buckets) <= shapes
    for (source, target, rows), indices in planned(plan, 60):
        assert len(indices) == rows
        assert rows * max(source, target) <= tokens
        assert (corpus(lengths)[indices] <= (source, target)).all()
        assert (source, target, rows) in plan.buckets


@given(LENGTHS, SEEDS, st.integers(0, 50))
@settings(deadline=None)
def test_the_batches_from_the_nth_on_are_the_tail_of_all(
    lengths: list[tuple[int, int]], seed: int, start: int
) -> None:
    whole = planned(BatchPlan(corpus(lengths), 80, seed), start + 20)
    assert planned(BatchPlan(corpus(lengths), 80, seed), 20, start) == whole[start:]


def test_the_seed_decides_the_order_and_each_epoch_has_its_own() -> None:
    lengths = np.random.default_rng(5).integers(1, 30, (500, 2), np.int32)
    one, again, other = (planned(BatchPlan(lengths, 60, seed), 400) for seed in (1, 1, 2))
    assert one == again
    assert one != other
    epoch = BatchPlan(lengths, 60, 1).batches_per_epoch()
    assert one[:epoch] != one[epoch : 2 * epoch]


def test_a_run_that_an_earlier_version_began_goes_on_with_the_same_batches() -> None:
    numbers = np.arange(3000)
    lengths = np.stack([numbers % 37 + 1, (numbers % 37 * 5 + numbers % 11) // 6 + 1], axis=1)
    shown = planned(BatchPlan(lengths.astype(np.int32), 400, seed=4), 300)  # two epochs
    # recorded with keras_transformer/text/buckets.py of commit 230b0bc, which looked at every pair
    assert sha256(repr(shown).encode()).hexdigest()[:16] == "46443d64eede8bfe"


def test_what_is_computed_of_lengths_is_computed_once_for_all_pairs_that_have_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []
    covers = buckets._covers
    monkeypatch.setattr(buckets, "_covers", lambda *given: seen.append(len(given[0])) or covers(*given))
    BatchPlan(np.random.default_rng(0).integers(1, 5, (100_000, 2), np.int32), 100)
    assert max(seen) == 4 * 4


def test_the_padding_by_hand() -> None:
    # 4 tokens of the longer sides, 3 to a batch: no more than one shape, (3, 3), which both pairs are given.
    # Real tokens 1 + 1 + 3 + 3 = 8 of 2 x (3 + 3) = 12: a third is padding.
    plan = BatchPlan(corpus([(1, 1), (3, 3)]), batch_tokens=3)
    assert plan.buckets == [(3, 3, 1)]
    assert plan.padding == pytest.approx(1 / 3)
    # with 40 of each there is room for a shape of their own: nothing is padding
    plan = BatchPlan(corpus([(1, 1), (3, 3)] * 40), batch_tokens=12)
    assert sorted(plan.buckets) == [(1, 1, 12), (3, 3, 4)]
    assert plan.padding == 0
    assert plan.batches_per_epoch() == 13  # 40 / 12 + 40 / 4 = 13.3


@given(
    st.lists(st.integers(1, 14), min_size=1, max_size=40),
    st.integers(1, 6),
    st.sampled_from(["source", "target"]),
)
@settings(deadline=None)
def test_where_one_side_is_constant_no_choice_of_bands_pads_less(
    lengths: list[int], shapes: int, side: str
) -> None:
    pairs = np.ones((len(lengths), 2), np.int32)
    pairs[:, ("source", "target").index(side)] = lengths
    tokens = max(lengths)
    shapes = max(1, min(shapes, sum(lengths) // tokens))  # no more than there are batches to fill
    least = min(
        sum(min(end for end in (*ends, max(lengths)) if end >= length) for length in lengths)
        for count in range(shapes)
        for ends in combinations(sorted(set(lengths))[:-1], count)
    )
    padded = least + len(lengths)  # the constant side has one token, which is real
    assert BatchPlan(pairs, tokens, shapes=shapes).padding == pytest.approx(1 - pairs.sum() / padded)


@given(LENGTHS, st.integers(40, 200), st.integers(1, 8))
@settings(deadline=None)
def test_padding_is_what_the_shapes_of_the_pairs_say_and_never_above_one_shape_for_all(
    lengths: list[tuple[int, int]], tokens: int, shapes: int
) -> None:
    pairs = corpus(lengths)
    plan = BatchPlan(pairs, tokens, shapes=shapes)
    shape_of = {index: bucket[:2] for bucket, indices in planned(plan, 400) for index in indices}
    padded = sum(sum(shape) for shape in shape_of.values())
    assert plan.padding == pytest.approx(1 - pairs.sum() / padded)
    assert plan.padding <= 1 - pairs.sum() / (len(pairs) * pairs.max(axis=0).sum()) + 1e-12


def test_sentences_as_people_write_them_are_padded_by_less_than_eight_percent() -> None:
    # like Multi30k: about 14 tokens, translations of nearly the same length
    random = np.random.default_rng(0)
    source = np.clip(random.lognormal(2.6, 0.35, 20_000).round(), 3, 60)
    target = np.clip((source + random.normal(0, 2.5, 20_000)).round(), 3, 60)
    lengths = np.stack([source, target], axis=1).astype(np.int32)
    plan = BatchPlan(lengths, 4096)
    rows = random.permutation(20_000)[: 20_000 // 128 * 128].reshape(-1, 128)
    naive = 1 - lengths[rows].sum() / (lengths[rows].max(axis=1).sum() * 128)
    assert len(plan.buckets) <= 32
    assert plan.padding < 0.08
    assert naive > 0.4


def test_more_tokens_than_the_corpus_has_make_one_batch_of_all_of_it() -> None:
    (bucket, indices), *_ = planned(BatchPlan(corpus([(2, 3), (4, 1), (3, 3)]), 10_000), 1)
    assert bucket == (4, 3, 3)
    assert sorted(indices) == [0, 1, 2]


def test_a_corpus_of_one_pair_is_one_batch_again_and_again() -> None:
    plan = BatchPlan(corpus([(3, 5)]), batch_tokens=5)
    assert planned(plan, 3, start=7) == [((3, 5, 1), [0])] * 3
    assert plan.batches_per_epoch() == 1
    assert plan.padding == 0


def test_a_sentence_alone_in_its_shape_waits_for_no_other() -> None:
    # 550 tokens in batches of 200 are two shapes; the longer one would have room for four rows
    assert max(BatchPlan(corpus([(5, 5)] * 100 + [(50, 50)]), 200).buckets) == (50, 50, 1)


def test_a_sentence_over_the_budget_is_told_with_what_to_allow() -> None:
    with pytest.raises(
        ValueError, match=r"^a batch of 8 tokens cannot hold the longest sentence, which has 9"
    ) as told:
        BatchPlan(corpus([(2, 2), (9, 3)]), batch_tokens=8)
    assert str(told.value).endswith("Allow 9 tokens or more, or cut the sentences.")
