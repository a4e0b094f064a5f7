"""Sampling over a scripted step: which tokens can be chosen, how often, and on what it depends."""

import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding.sampling import RESOLUTION, Sampling, choose, draw, sample

P = np.array([0.1, 0.4, 0.2, 0.3])
LOGITS = np.log(P)[None].astype("float32")
EVENLY = (np.arange(1000) + 0.5) / 1000 * RESOLUTION  # a draw of each thousandth


def chosen(**options):
    """How often each token is chosen over evenly spread draws."""
    logits = ops.convert_to_tensor(np.repeat(LOGITS, 1000, axis=0))
    tokens = choose(logits, ops.convert_to_tensor(EVENLY.astype("int32")), Sampling(**options))
    return np.bincount(ops.convert_to_numpy(tokens), minlength=4) / 1000


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, P),
        ({"temperature": 0.0}, [0, 1, 0, 0]),
        ({"temperature": 0.5}, P**2 / (P**2).sum()),  # p^(1/T)
        ({"top_k": 2}, np.array([0, 4, 0, 3]) / 7),
        ({"top_k": 9}, P),
        ({"top_p": 0.7}, np.array([0, 4, 0, 3]) / 7),  # 0.4 + 0.3
        ({"top_p": 0.71}, np.array([0, 4, 2, 3]) / 9),
        ({"top_p": 0.01}, [0, 1, 0, 0]),
        ({"top_k": 3, "top_p": 0.5}, np.array([0, 4, 0, 3]) / 7),  # 0.4 / 0.9 is below 0.5
    ],
)
def test_tokens_are_chosen_as_often_as_they_are_probable(options, expected):
    np.testing.assert_allclose(chosen(**options), expected, rtol=0, atol=2e-3)


@pytest.mark.parametrize("options", [{}, {"top_k": 2}, {"top_p": 0.5}])
def test_the_largest_draw_is_a_token_that_can_be_chosen(options):
    token = choose(
        ops.convert_to_tensor(LOGITS), ops.convert_to_tensor([RESOLUTION - 1]), Sampling(**options)
    )
    assert P[int(ops.convert_to_numpy(token)[0])] >= 0.3


def test_draws_depend_on_the_seed_and_the_place_alone():
    alone, longer = draw([7], 5), draw([3, 7, 7], 9)
    np.testing.assert_array_equal(longer[1, :5], alone[0])
    np.testing.assert_array_equal(longer[1], longer[2])
    assert (longer[0] != longer[1]).any()
    assert draw([1], 10_000).min() >= 0 and draw([1], 10_000).max() < RESOLUTION
    assert draw([1], 10_000).mean() / RESOLUTION == pytest.approx(0.5, abs=0.02)


def walk(table, seeds, start, length=6, end_id=-1, **options):
    """Sample where the next token depends on the last one: row t of the table has the logits after t."""
    table = ops.convert_to_tensor(np.asarray(table, "float32"))
    size = table.shape[1]
    seen = np.zeros((len(start), size), "int32")
    return ops.convert_to_numpy(
        sample(
            lambda token, position, state: (ops.take(table, token, axis=0), state),
            (),
            ops.convert_to_tensor(np.asarray(start, "int32")),
            length,
            [end_id],
            Sampling(**options),
            ops.convert_to_tensor(draw(seeds, length)),
            ops.convert_to_tensor(seen),
        )
    )


TABLE = np.random.default_rng(0).normal(size=(5, 5))


def test_a_row_has_the_same_tokens_in_any_batch():
    together = walk(TABLE, [1, 2, 3], [0, 1, 2], top_p=0.9)
    for row, (seed, start) in enumerate([(1, 0), (2, 1), (3, 2)]):
        np.testing.assert_array_equal(walk(TABLE, [seed], [start], top_p=0.9)[0], together[row])
    assert (walk(TABLE, [4], [0]) != walk(TABLE, [5], [0])).any()


def test_nothing_follows_the_end():
    tokens = walk(np.log(np.full((3, 3), 1 / 3)), range(20), [0] * 20, length=9, end_id=2)
    for row in tokens.tolist():
        if 2 in row:
            assert set(row[row.index(2) + 1 :]) <= {0}
    assert any(2 in row[:5] for row in tokens.tolist())


def test_a_penalty_lowers_the_tokens_that_a_row_has_by_their_sign():
    # after any token 2, 1, -1, -2; the row begins with token 3. At penalty 3: 2/3 < 1, then 1/3 < 2/3, then 0
    table = np.tile([2.0, 1.0, -1.0, -2.0], (4, 1))
    assert walk(table, [0], [3], 3, temperature=0.0, repetition_penalty=3.0).tolist() == [[0, 1, 0]]
    # a row that has all tokens: 2/9, 1/9, -9, -18
    assert walk(table, [0], [2], 4, temperature=0.0, repetition_penalty=1.0).tolist() == [[0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"temperature": -1}, "temperature must be a number at least 0; got -1"),
        ({"top_p": 0}, "top_p must be a number above 0 and at most 1; got 0"),
        ({"top_p": 1.1}, "got 1.1"),
        ({"top_k": 0}, "top_k must be at least 1; got 0"),
        ({"repetition_penalty": float("nan")}, "repetition_penalty must be a number above 0; got nan"),
    ],
)
def test_an_option_out_of_range_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        Sampling(**options).check()


def test_a_seed_below_zero_is_refused():
    with pytest.raises(ValueError, match="seed must be at least 0; got -3"):
        draw([-3], 1)


def test_it_runs_on_this_backend_in_a_loop_that_ends_early():
    """Rows that all end are not computed further; what is left of them is 0."""
    tokens = walk(np.log([[1e-9, 1e-9, 1], [1e-9, 1, 1e-9], [1, 1e-9, 1e-9]]), [1, 1], [0, 0], 5, end_id=2)
    assert tokens.tolist() == [[2, 0, 0, 0, 0]] * 2
