"""Beam search over scripted steps: what it finds is what looking at every answer would find."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.decoding.beam import beam_search
from keras_transformer.decoding.greedy import greedy

START, END = 2, 3


def search(step: Any, state: Any, batch: int, width: int, length: int, **more: Any) -> Any:
    """-> the answers of each row with their scores, the best first; what was not found left out."""
    found = beam_search(step, tf.gather, state, batch, width, length, START, END, **more)
    return [
        [(without_padding(ids), score) for ids, score in zip(*row, strict=True) if np.isfinite(score)]
        for row in zip(found.tokens.numpy().tolist(), found.scores.numpy().tolist(), strict=True)
    ]


def without_padding(ids: Sequence[int]) -> list[int]:
    return [number for number in ids if number != 0]


def chain(probabilities: dict[int, dict[int, float]], vocabulary: int = 8) -> Any:
    """A step whose next token depends on the last one alone; what is not named is as good as impossible."""
    table = np.full((vocabulary, vocabulary), 1e-12)
    for last, following in probabilities.items():
        for token, probability in following.items():
            table[last, token] = probability
    logits = tf.constant(np.log(table), tf.float32)
    return lambda token, position, state: (tf.gather(logits, token), state)


# The best first token leads to no good end: greedy says 4 6 (0.6 * 0.4), the best is 5 END (0.4 * 0.9).
GARDEN = {
    START: {4: 0.6, 5: 0.4},
    4: {6: 0.4, 7: 0.3, END: 0.3},
    5: {END: 0.9, 6: 0.1},
    6: {END: 1.0},
    7: {END: 1.0},
}


def test_it_finds_the_better_answer_that_greedy_passes_by() -> None:
    step = chain(GARDEN)
    assert greedy(step, 0, 1, 4, START, END).numpy().tolist() == [[4, 6, END, 0]]
    (found,) = search(step, tf.zeros(2), 1, 2, 4, penalty=0.0)
    assert [answer for answer, _ in found] == [[5, END], [4, 6, END]]
    # ln(0.4 * 0.9), ln(0.6 * 0.4 * 1)
    np.testing.assert_allclose([score for _, score in found], np.log([0.36, 0.24]), rtol=1e-5)


def test_the_length_penalty_divides_by_a_power_of_the_length_with_its_end() -> None:
    (found,) = search(chain(GARDEN), tf.zeros(2), 1, 2, 4, penalty=1.0)
    # ln 0.36 / 2 = -0.511, ln 0.24 / 3 = -0.476: the longer one wins now
    assert [answer for answer, _ in found] == [[4, 6, END], [5, END]]
    np.testing.assert_allclose([score for _, score in found], [np.log(0.24) / 3, np.log(0.36) / 2], rtol=1e-5)


def test_the_margin_is_the_smallest_difference_of_scores_that_the_search_compared() -> None:
    step = chain(
        {START: {4: 0.5, END: 0.3, 5: 0.15}, 4: {END: 0.6, 5: 0.3, 4: 0.1}, 5: {END: 0.5, 6: 0.4, 4: 0.1}}
    )
    greedily = beam_search(step, tf.gather, tf.zeros(1), 1, 1, 4, START, END)
    # the best three at first: 0.5, 0.3, 0.15; after 4: 0.6, 0.3, 0.1
    np.testing.assert_allclose(greedily.margins, [np.log(0.5 / 0.3)], rtol=1e-5)
    several = beam_search(step, tf.gather, tf.zeros(2), 1, 2, 4, START, END, limits=tf.constant([1]))
    # ... and 1e-12 five times, which are equal
    np.testing.assert_array_equal(several.margins, [0.0])


def test_a_row_at_its_limit_keeps_what_is_alive_as_it_stands() -> None:
    (found,) = search(chain(GARDEN), tf.zeros(2), 1, 2, 4, penalty=0.0, limits=tf.constant([1]))
    assert [answer for answer, _ in found] == [[4], [5]]
    np.testing.assert_allclose([score for _, score in found], np.log([0.6, 0.4]), rtol=1e-5)


def test_an_answer_begins_with_the_prefix_and_its_score_counts_it() -> None:
    prefix = tf.constant([[5], [4]])
    found = search(chain(GARDEN), tf.zeros(4), 2, 2, 4, penalty=0.0, prefix=prefix)
    assert [answer for answer, _ in found[0]] == [[5, END], [5, 6, END]]
    assert [answer for answer, _ in found[1]] == [
        [4, 6, END],
        [4, END],
    ]  # 7 is as good as END; the first wins
    np.testing.assert_allclose([score for _, score in found[0]], np.log([0.36, 0.04]), rtol=1e-5)


def test_the_state_follows_its_beam() -> None:
    """The state is the sum of what was said. A beam that took another's place has its sum."""
    table = tf.math.log(
        tf.constant(np.full((8, 8), 1e-12) + np.eye(8)[[4] * 8] * 0.6 + np.eye(8)[[5] * 8] * 0.4)
    )

    def step(token: Any, position: Any, state: Any) -> Any:
        total = state + token
        # 2 + 4 + 4, 2 + 4 + 5, 2 + 5 + 4, 2 + 5 + 5: the end is likely after 12 alone
        ends = tf.one_hot(tf.fill(tf.shape(token), END), 8) * 50.0
        logits = tf.gather(tf.cast(table, tf.float32), token)
        return tf.where((total == 12)[:, None], ends, logits), total

    (found,) = search(step, tf.zeros(4, tf.int32), 1, 4, 3, penalty=0.0)
    assert found[0][0] == [4, 4, 4]
    assert [answer for answer, _ in found if answer[-1] == END] == [[5, 5, END]]


@st.composite
def scripts(draw: st.DrawFn) -> np.ndarray:
    """Distinct logits for the step after every beginning: the next token depends on the last two."""
    seed = draw(st.integers(0, 10_000))
    return np.random.default_rng(seed).normal(size=(3, 6, 6)).astype(np.float32)


def scripted(logits: np.ndarray) -> Any:
    script = tf.constant(logits)
    return lambda token, position, state: (tf.gather(script[position], token), state)


@settings(max_examples=30)
@given(scripts())
def test_a_beam_as_wide_as_all_answers_finds_the_best_of_all_of_them(logits: np.ndarray) -> None:
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    scores: dict[tuple[int, ...], float] = {}
    for said in product(range(6), repeat=3):
        answer = said[: said.index(END) + 1] if END in said else said
        path = zip((START, *answer[:-1]), answer, strict=True)
        scores[answer] = sum(log_probs[at, last, token] for at, (last, token) in enumerate(path)) / len(
            answer
        )
    best = max(scores, key=scores.__getitem__)
    found = beam_search(scripted(logits), tf.gather, tf.zeros(64), 1, 64, 3, START, END)
    assert found.tokens[0, 0].numpy().tolist() == [*best, *[0] * (3 - len(best))]
    np.testing.assert_allclose(found.scores[0, 0], scores[best], rtol=1e-4)


@settings(max_examples=30)
@given(scripts(), st.integers(1, 3))
def test_beam_1_is_greedy(logits: np.ndarray, length: int) -> None:
    expected = greedy(scripted(logits), 0, 2, length, START, END).numpy()
    found = beam_search(scripted(logits), tf.gather, tf.zeros(2), 2, 1, length, START, END)
    np.testing.assert_array_equal(found.tokens[:, 0], expected)


@pytest.mark.parametrize("width", [1, 3])
def test_a_row_finds_the_same_alone_and_beside_others(width: int) -> None:
    rng = np.random.default_rng(5)
    script = tf.constant(rng.normal(size=(4, 6, 6)).astype(np.float32))  # one for each row

    def step(token: Any, position: Any, state: Any) -> Any:
        return tf.gather_nd(script, tf.stack([state, token], axis=1)), state

    limits = [5, 2, 4, 3]
    rows = tf.repeat(tf.range(4), width)
    together = search(step, rows, 4, width, 5, limits=tf.constant(limits))
    for row, limit in enumerate(limits):
        alone = search(step, tf.fill((width,), row), 1, width, 5, limits=tf.constant([limit]))
        assert [answer for answer, _ in alone[0]] == [answer for answer, _ in together[row]]
