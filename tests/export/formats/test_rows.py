"""Rows go into batches of like length; each comes out at its own place."""

from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.text.lengths import like_lengths
from keras_transformer.text.padding import padded, without_padding

END = 3


def test_the_longest_come_first_and_a_batch_keeps_to_the_budget() -> None:
    rows = [[5] * length for length in (2, 9, 4, 4, 3, 30)]
    # 30 is over the budget of 12, and alone; 9 leaves no room for a second of its width; 12 // 4 = 3
    assert list(like_lengths(rows, 12, END)) == [[5], [1], [2, 3, 4], [0]]


def test_rows_that_say_nothing_are_in_no_batch() -> None:
    assert list(like_lengths([[END], [5, END], [], [END]], 100, END)) == [[1]]
    assert list(like_lengths([[END], [7]], 100, end_id=7)) == [[0]]
    assert list(like_lengths([], 100, END)) == []


@given(st.lists(st.lists(st.integers(1, 9), max_size=12), max_size=30), st.integers(1, 40))
def test_every_row_that_says_something_is_in_one_batch(rows: list[list[int]], budget: int) -> None:
    batches = list(like_lengths(rows, budget, END))
    assert sorted(chain(*batches)) == [place for place, row in enumerate(rows) if row not in ([], [END])]
    for places in batches:
        widths = [len(rows[place]) for place in places]
        assert len(places) == 1 or max(widths) * len(places) <= budget


def test_padding_comes_and_goes() -> None:
    assert padded([[1], [2, 3]]).tolist() == [[1, 0], [2, 3]]
    assert padded([]).shape == (0, 0)
    assert without_padding([2, 0, 3, 0, 0]) == [2, 0, 3]  # a 0 that was said stays
    assert without_padding([0, 0]) == []
