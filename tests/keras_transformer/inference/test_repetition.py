"""What would repeat an n-gram, and the likeliest of the others, by hand."""

import numpy as np
import pytest

from keras_transformer.inference.repetition import likeliest, repeating


@pytest.mark.parametrize(
    ("ids", "size", "expected"),
    [
        ([1, 2, 3, 1, 2], 3, {3}),  # 1 2 3 is there: 3 would make it twice
        ([1, 2, 3, 1, 2, 4, 1, 2], 3, {3, 4}),
        ([1, 2, 3], 1, {1, 2, 3}),
        ([5, 5], 2, {5}),
        ([5], 2, set()),
        ([], 1, set()),
        ([1, 2], 9, set()),
    ],
)
def test_the_tokens_that_would_end_an_n_gram_for_the_second_time(
    ids: list[int], size: int, expected: set[int]
) -> None:
    assert repeating(ids, size) == expected


def test_the_likeliest_of_those_that_are_left_come_first_and_of_equal_ones_the_first() -> None:
    log_probs = np.array([-3.0, -1.0, -2.0, -1.0, -9.0], np.float32)
    assert likeliest(log_probs, {3}, 3) == [1, 2, 0]
    assert likeliest(log_probs, set(), 2) == [1, 3]
    assert likeliest(log_probs, {0, 1, 2, 3}, 5) == [4]
