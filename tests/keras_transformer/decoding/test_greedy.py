"""Greedy decoding over scripted steps: what it does is proved without a weight."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.decoding.greedy import greedy

START, END, VOCABULARY = 2, 3, 8


@pytest.fixture(params=["eager", "graph"])
def decode(request: pytest.FixtureRequest) -> Callable[..., np.ndarray]:
    """decode(step, state, batch, length): greedy as Python runs it, and as a graph does."""

    def plain(step: Any, state: Any, batch: int, length: int, **more: Any) -> np.ndarray:
        return np.asarray(greedy(step, state, batch, length, START, END, **more))

    def compiled(step: Any, state: Any, batch: int, length: int, **more: Any) -> np.ndarray:
        run = tf.function(lambda batch, length: greedy(step, state, batch, length, START, END, **more))
        return run(tf.constant(batch), tf.constant(length)).numpy()

    return plain if request.param == "eager" else compiled


def says(*rows: list[int]) -> Any:
    """A step that says rows[b][t] at position t of row b, whatever it is given, and hands its state on."""
    script = tf.one_hot(rows, VOCABULARY)

    def step(token: Any, position: Any, state: Any) -> Any:
        return script[:, position], state

    return step


def test_a_row_is_what_was_said_up_to_and_with_the_end_then_zeros(decode: Any) -> None:
    assert decode(says([5, 6, END, 7, 7]), 0, 1, 5).tolist() == [[5, 6, END, 0, 0]]


def test_each_row_ends_by_itself_and_stays_ended(decode: Any) -> None:
    found = decode(says([END, 5, 5, 5], [5, END, END, 6], [4, 5, 6, 7]), 0, 3, 4)
    assert found.tolist() == [[END, 0, 0, 0], [5, END, 0, 0], [4, 5, 6, 7]]


def test_at_the_length_limit_a_row_stops_without_an_end(decode: Any) -> None:
    assert decode(says([5, 6, 7, END]), 0, 1, 3).tolist() == [[5, 6, 7]]


def test_an_end_on_the_last_place_is_kept(decode: Any) -> None:
    assert decode(says([5, 6, END]), 0, 1, 3).tolist() == [[5, 6, END]]


def test_a_tie_goes_to_the_first_of_the_highest(decode: Any) -> None:
    logits = tf.constant([[-1.0, -9.0, -1.0, -0.5, -9.0, -0.5, -0.5, -9.0], [-2.0] * VOCABULARY])
    found = decode(lambda token, position, state: (logits, state), 0, 2, 2)
    assert found.tolist() == [[3, 0], [0, 0]]  # index 3 before 5 and 6; of eight equals the first, 0


def test_the_step_is_given_the_start_id_then_what_was_said_and_each_position(decode: Any) -> None:
    def step(token: Any, position: Any, state: Any) -> Any:
        seen = tf.one_hot(position, 4, dtype=tf.int32) * token[:, None]
        following = tf.gather([0, 0, 5, 0, 6, 4, 7, 3], token)  # 2 -> 5 -> 4 -> 6 -> 7
        tf.debugging.assert_equal(seen, [tf.one_hot(position, 4, dtype=tf.int32) * [2, 5, 4, 6]] * 2)
        return tf.one_hot(following, VOCABULARY), state

    assert decode(step, 0, 2, 4).tolist() == [[5, 4, 6, 7]] * 2


def test_an_ended_row_is_fed_padding(decode: Any) -> None:
    def step(token: Any, position: Any, state: Any) -> Any:
        # row 0 ends at once and then says what it is fed, plus 4; row 1 goes on
        said = tf.where(position == 0, [END, 5], [token[0] + 4, 5])
        return tf.one_hot(said, VOCABULARY), tf.concat([state[:, 1:], token[:, None]], axis=1)

    assert decode(step, tf.zeros((2, 3), tf.int32), 2, 3).tolist() == [[END, 0, 0], [5, 5, 5]]


def test_the_state_is_handed_from_step_to_step(decode: Any) -> None:
    def step(token: Any, position: Any, state: Any) -> Any:
        total, nested = state
        total = total + tf.cast(position, tf.int32) + 1  # 1, 3, 6, ...
        return tf.one_hot(total, VOCABULARY), (total, {"kept": nested["kept"]})

    state = (tf.zeros(2, tf.int32), {"kept": tf.ones(3)})
    # the totals are 1, 3 = END
    assert decode(step, state, 2, 6).tolist() == [[1, END, 0, 0, 0, 0]] * 2


@pytest.mark.parametrize(("rows", "length", "calls"), [(([5, END, 9], [END, 5, 9]), 3, 2), (([5, 5],), 2, 2)])
def test_it_stops_calling_when_all_rows_have_ended(decode: Any, rows: Any, length: int, calls: int) -> None:
    counter = tf.Variable(0)
    said = says(*rows)

    def step(token: Any, position: Any, state: Any) -> Any:
        counter.assign_add(1)
        return said(token, position, state)

    decode(step, 0, len(rows), length)
    assert counter.numpy() == calls


def test_a_row_ends_at_a_limit_of_its_own_and_one_without_room_says_nothing(decode: Any) -> None:
    found = decode(says([5, 6, 7, 7], [5, END, 7, 7], [4, 5, 6, 7]), 0, 3, 4, limits=tf.constant([2, 3, 0]))
    assert found.tolist() == [[5, 6, 0, 0], [5, END, 0, 0], [0, 0, 0, 0]]


def test_a_row_begins_with_its_prefix_and_goes_on_from_there(decode: Any) -> None:
    def next_one(token: Any, position: Any, state: Any) -> Any:
        return tf.one_hot(token + 1, VOCABULARY), state  # 2 -> 3, which ends; 4 -> 5 -> 6 -> 7

    prefix = tf.constant([[4, 0], [1, 5], [0, 0]])
    assert decode(next_one, 0, 3, 4, prefix=prefix).tolist() == [[4, 5, 6, 7], [1, 5, 6, 7], [3, 0, 0, 0]]


def test_logits_that_are_no_number_say_padding_and_break_nothing(decode: Any) -> None:
    step = lambda token, position, state: (tf.fill((2, VOCABULARY), np.nan), state)  # noqa: E731
    assert decode(step, 0, 2, 2).tolist() == [[0, 0], [0, 0]]


def test_no_rows_and_no_room_are_empty_answers(decode: Any) -> None:
    def never(token: Any, position: Any, state: Any) -> Any:
        return tf.zeros((tf.shape(token)[0], VOCABULARY)), state

    assert decode(never, 0, 0, 4).shape == (0, 4)
    assert decode(never, 0, 3, 0).shape == (3, 0)


@given(
    st.lists(st.lists(st.sampled_from([1, END, 4, 5]), min_size=6, max_size=6), min_size=1, max_size=4),
    st.integers(0, 6),
)
def test_it_is_the_plain_loop_over_each_row(rows: list[list[int]], length: int) -> None:
    expected = []
    for row in rows:
        said = row[:length]
        kept = said[: said.index(END) + 1] if END in said else said
        expected.append(kept + [0] * (length - len(kept)))
    found = np.asarray(greedy(says(*rows), 0, len(rows), length, START, END))
    assert found.tolist() == expected
