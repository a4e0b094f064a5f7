"""What is true of attention whatever the numbers are; each test is one sentence of mathematics."""

import keras
import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from keras import ops

from keras_transformer import (
    MultiHeadAttention,
    MultiHeadSelfAttention,
    PositionalEncoding,
    TransformerDecoder,
    TransformerEncoder,
    TransformerEncoderBlock,
    causal_mask,
    scaled_dot_product_attention,
)

WIDTH = 8
# no shrinking: the examples are small already, and a failure is to be told at once
tried = settings(
    max_examples=10, deadline=None, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate]
)
seeds = st.integers(0, 2**32 - 1)
lengths = st.integers(1, 5)
batches = st.integers(1, 3)
half = pytest.mark.parametrize("dtype", ["float16", "bfloat16"])


def normal(*shape, seed=0, scale=1.0):
    return (np.random.default_rng(seed).normal(size=shape) * scale).astype("float32")


def number(tensor):
    return ops.convert_to_numpy(ops.cast(tensor, "float32"))


def close(found, expected, atol=1e-5):
    np.testing.assert_allclose(number(found), number(expected), rtol=0, atol=atol)


@pytest.fixture(scope="module")
def self_attention():
    return MultiHeadSelfAttention(num_heads=2)


@pytest.fixture(scope="module")
def cross_attention():
    return MultiHeadAttention(num_heads=2)


@pytest.fixture(scope="module", params=["pre", "post"])
def norm_first(request):
    return request.param == "pre"


@pytest.fixture(scope="module")
def encoder(norm_first):
    return TransformerEncoder(num_layers=2, num_heads=2, inner_width=12, norm_first=norm_first)


@pytest.fixture(scope="module")
def decoder(norm_first):
    return TransformerDecoder(num_layers=2, num_heads=2, inner_width=12, norm_first=norm_first)


@pytest.fixture(scope="module")
def decoder_alone():
    return TransformerDecoder(num_layers=2, num_heads=2, inner_width=12)


@tried
@given(seed=seeds, batch=batches, length=lengths, source=lengths, data=st.data())
def test_changing_a_token_leaves_every_output_before_it_alone(decoder, seed, batch, length, source, data):
    t = data.draw(st.integers(0, length - 1))
    x, memory = normal(batch, length, WIDTH, seed=seed), normal(batch, source, WIDTH, seed=seed + 1)
    changed = x.copy()
    changed[:, t] += normal(batch, WIDTH, seed=seed + 2, scale=10)

    before, after = number(decoder(x, memory)), number(decoder(changed, memory))

    close(before[:, :t], after[:, :t])
    assert np.abs(before[:, t] - after[:, t]).max() > 1e-3


@tried
@given(seed=seeds, length=lengths, data=st.data())
def test_changing_a_token_of_a_decoder_without_memory_leaves_what_came_before(
    decoder_alone, seed, length, data
):
    t = data.draw(st.integers(0, length - 1))
    x = normal(2, length, WIDTH, seed=seed)
    changed = x.copy()
    changed[:, t:] = normal(2, length - t, WIDTH, seed=seed + 2, scale=100)

    close(decoder_alone(x)[:, :t], decoder_alone(changed)[:, :t])


@tried
@given(seed=seeds, length=lengths, data=st.data())
def test_a_causal_mask_makes_self_attention_causal(self_attention, seed, length, data):
    t = data.draw(st.integers(0, length - 1))
    x = normal(2, length, WIDTH, seed=seed)
    changed = x.copy()
    changed[:, t:] = normal(2, length - t, WIDTH, seed=seed + 2, scale=100)

    before = self_attention(x, attention_mask=causal_mask(length))
    close(before[:, :t], self_attention(changed, attention_mask=causal_mask(length))[:, :t])


@tried
@given(seed=seeds, batch=batches, length=lengths, more=st.integers(1, 3))
def test_more_padding_changes_nothing(encoder, seed, batch, length, more):
    x = normal(batch, length, WIDTH, seed=seed)
    padded = np.concatenate([x, normal(batch, more, WIDTH, seed=seed + 1, scale=100)], axis=1)
    real = np.broadcast_to(np.arange(length + more) < length, (batch, length + more))

    close(encoder(padded, mask=real)[:, :length], encoder(x))


@tried
@given(seed=seeds, length=lengths, source=lengths, more=st.integers(1, 3), more_source=st.integers(1, 3))
def test_more_padding_of_target_and_memory_changes_nothing(decoder, seed, length, source, more, more_source):
    x, memory = normal(2, length, WIDTH, seed=seed), normal(2, source, WIDTH, seed=seed + 1)
    longer = np.concatenate([normal(2, more, WIDTH, seed=seed + 2, scale=100), x], axis=1)
    more_memory = np.concatenate([memory, normal(2, more_source, WIDTH, seed=seed + 3, scale=100)], axis=1)

    # the target is padded in front, where causality alone would not hide the padding
    found = decoder(
        longer,
        more_memory,
        mask=np.broadcast_to(np.arange(length + more) >= more, (2, length + more)),
        memory_mask=np.broadcast_to(np.arange(source + more_source) < source, (2, source + more_source)),
    )

    close(found[:, more:], decoder(x, memory))


@tried
@given(seed=seeds, batch=st.integers(2, 4), length=lengths, source=lengths, data=st.data())
def test_a_row_alone_equals_the_row_in_a_batch(encoder, decoder, seed, batch, length, source, data):
    rng = np.random.default_rng(seed)
    row = data.draw(st.integers(0, batch - 1))
    x, y = normal(batch, source, WIDTH, seed=seed), normal(batch, length, WIDTH, seed=seed + 1)
    real = np.arange(source) < rng.integers(1, source + 1, size=(batch, 1))

    memory = encoder(x, mask=real)
    alone = encoder(x[row : row + 1], mask=real[row : row + 1])
    close(memory[row : row + 1], alone)

    together = decoder(y, memory, memory_mask=real)
    close(together[row : row + 1], decoder(y[row : row + 1], alone, memory_mask=real[row : row + 1]))


@tried
@given(seed=seeds, length=lengths, source=lengths)
def test_without_positions_permuting_the_input_permutes_the_output(encoder, decoder, seed, length, source):
    rng = np.random.default_rng(seed)
    order, source_order = rng.permutation(length), rng.permutation(source)
    x, memory = normal(2, length, WIDTH, seed=seed), normal(2, source, WIDTH, seed=seed + 1)

    close(encoder(x[:, order]), number(encoder(x))[:, order])
    # a decoder is causal, but the order of its memory means nothing to it
    close(decoder(x, memory[:, source_order]), decoder(x, memory))


def test_with_positions_the_order_matters(encoder):
    x, positions = normal(1, 4, WIDTH), PositionalEncoding()

    found, expected = number(encoder(positions(x[:, ::-1]))), number(encoder(positions(x)))[:, ::-1]

    assert np.abs(found - expected).max() > 0.01


@tried
@given(seed=seeds, length=lengths, source=lengths, density=st.floats(0, 1), scale=st.sampled_from([1, 100]))
def test_the_weights_of_a_row_sum_to_one_or_are_all_zero(
    cross_attention, seed, length, source, density, scale
):
    rng = np.random.default_rng(seed)
    allowed = rng.random((2, length, source)) < density
    query, value = normal(2, length, WIDTH, seed=seed, scale=scale), normal(2, source, WIDTH, seed=seed + 1)

    _, weights = cross_attention(query, value, attention_mask=allowed, return_attention_scores=True)

    weights, allowed = number(weights), np.broadcast_to(allowed[:, None], (2, 2, length, source))
    np.testing.assert_allclose(weights.sum(-1), allowed.any(-1), rtol=0, atol=1e-5)
    assert (weights[~allowed] == 0).all()
    assert (weights >= 0).all()


@tried
@given(seed=seeds, length=lengths, source=lengths, masked=st.sets(st.integers(0, 5)))
def test_rows_that_may_attend_to_nothing_give_zeros_and_the_others_what_they_gave(
    seed, length, source, masked
):
    rows = [row for row in masked if row < length]
    allowed = np.ones((length, source), "bool")
    allowed[rows] = False
    arguments = (
        normal(length, 4, seed=seed),
        normal(source, 4, seed=seed + 1),
        normal(source, 3, seed=seed + 2),
    )

    output, weights = scaled_dot_product_attention(*arguments, mask=allowed)
    expected, expected_weights = scaled_dot_product_attention(*arguments)

    keep = allowed.any(-1, keepdims=True)
    close(output, np.where(keep, number(expected), 0), atol=1e-6)
    close(weights, np.where(keep, number(expected_weights), 0), atol=1e-6)


@tried
@given(width=st.sampled_from([2, 8, 64, 130]), length=st.integers(2, 200))
def test_the_gram_matrix_of_the_sinusoids_depends_on_the_distance_only(width, length):
    positions = number(PositionalEncoding(max_length=200)(np.zeros((1, length, width), "float32")))[0]

    gram = positions.astype("float64") @ positions.T.astype("float64")

    # sin p sin q + cos p cos q = cos(p - q): every diagonal is constant, and the main one width / 2
    for distance in {0, 1, length // 2, length - 1}:
        diagonal = np.diagonal(gram, distance)
        angles = distance / 10_000 ** (np.arange(0, width, 2) / width)
        np.testing.assert_allclose(diagonal, np.cos(angles).sum(), rtol=0, atol=2e-5 * width)


@half
@tried
@example(signs=[1, -1, -1], masked=True)  # what is masked stays below the lowest score
@given(signs=st.lists(st.sampled_from([-1, 1]), min_size=2, max_size=5), masked=st.booleans())
def test_logits_of_ten_thousand_stay_numbers_in_half_precision(dtype, signs, masked):
    # width 4: query 200, key ±100 -> ±20000, more than a half of what float16 holds; / √4 = ±10000
    query, key = np.zeros((1, 4)), np.zeros((len(signs), 4))
    query[0, 0], key[:, 0] = 200, np.array(signs) * 100.0
    mask = np.array([[not masked] + [True] * (len(signs) - 1)]) if masked else None

    output, weights = scaled_dot_product_attention(
        ops.cast(query, dtype), ops.cast(key, dtype), ops.cast(np.ones((len(signs), 1)), dtype), mask
    )

    best = max(signs[1:] if masked else signs)
    chosen = (np.array(signs) == best) & (True if mask is None else mask[0])
    np.testing.assert_allclose(number(weights)[0], chosen / chosen.sum(), atol=2e-3)
    np.testing.assert_allclose(number(output), [[1]], atol=4e-3)


@half
def test_the_unscaled_product_may_be_more_than_half_precision_holds(dtype):
    # width 64: query 1000 · key 64 · 8 = 80000 / √64 = 10000; float16 ends at 65504
    query, key = np.zeros((2, 64)), np.zeros((2, 64))
    query[:, 0], key[0, 0], key[1, 0] = [1000, -1000], 80, -80
    query, key = ops.cast(query, dtype), ops.cast(key, dtype)

    output, weights = scaled_dot_product_attention(query, key, key)

    np.testing.assert_array_equal(number(weights), np.eye(2))
    assert np.isfinite(number(output)).all()


@half
@tried
@given(signs=st.lists(st.sampled_from([-1.0, 1.0]), min_size=2, max_size=5))
def test_layers_in_half_precision_stay_numbers_with_logits_of_ten_thousand(assign, gradient, dtype, signs):
    layer = MultiHeadSelfAttention(num_heads=2, dtype="mixed_" + dtype)
    layer.build((None, None, 2))
    hundred, one = 100 * np.eye(2), np.eye(2)
    assign(layer, {"query_key_value/kernel": np.hstack([hundred, hundred, one]), "output/kernel": one})
    x = np.array([[[sign, -sign] for sign in signs]], "float32")  # heads one wide: logits ±100 · ±100

    output, scores = layer(x, attention_mask=causal_mask(len(signs)), return_attention_scores=True)

    assert np.isfinite(number(output)).all()
    np.testing.assert_allclose(number(scores).sum(-1), 1, atol=4e-3)
    assert np.isfinite(gradient(lambda x: layer(x, attention_mask=causal_mask(len(signs))), x)).all()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@tried
@given(seed=seeds, rows=st.lists(st.booleans(), min_size=2, max_size=4))
def test_gradients_are_finite_with_rows_that_may_attend_to_nothing(gradient, dtype, seed, rows):
    allowed = np.array(rows)[:, None]
    query, key, value = (normal(len(rows), 4, seed=seed + i) for i in range(3))

    def through(part):
        def attention(x):
            arguments = [ops.cast(tensor, dtype) for tensor in (query, key, value)]
            arguments[part] = ops.cast(x, dtype)
            return scaled_dot_product_attention(*arguments, mask=allowed)[0] ** 2

        return attention

    for part, x in enumerate((query, key, value)):
        found = gradient(through(part), x)
        assert np.isfinite(found).all()
        if part == 0:
            np.testing.assert_array_equal(found[~allowed[:, 0]], 0)


def test_a_whole_encoder_and_its_gradient_stay_numbers_where_a_sentence_is_all_padding(encoder, gradient):
    x, real = normal(2, 3, WIDTH), np.array([[False] * 3, [True] * 3])

    assert np.isfinite(number(encoder(x, mask=real))).all()
    assert np.isfinite(gradient(lambda x: encoder(x, mask=ops.convert_to_tensor(real)), x)).all()


def test_what_padding_holds_gets_no_gradient(encoder, gradient):
    x, real = normal(1, 4, WIDTH), np.array([[True, True, False, False]])

    weights = ops.convert_to_tensor(normal(2, WIDTH, seed=3))
    found = gradient(lambda x: encoder(x, mask=ops.convert_to_tensor(real))[:, :2] * weights, x)

    np.testing.assert_array_equal(found[:, 2:], 0)
    assert np.abs(found[:, :2]).max() > 1e-3


def test_a_change_too_small_for_the_softmax_in_half_precision_is_still_seen():
    """Scores 0 and 1/64 differ in float32; a softmax in bfloat16 would call the weights 0.5 and 0.5."""
    query, key = np.array([[1.0]]), np.array([[0.0], [1 / 64]])
    _, weights = scaled_dot_product_attention(*(ops.cast(x, "bfloat16") for x in (query, key, key)))

    # e^(1/64) / (1 + e^(1/64)) = 0.503906 is bfloat16's 0.503906
    np.testing.assert_allclose(number(weights)[0, 1], 0.503906, atol=1e-5)


def test_blocks_are_invariant_to_nothing_but_what_they_should_be():
    """The properties above are not met by a block that ignores its input."""
    block = TransformerEncoderBlock(num_heads=2, inner_width=12)
    x = normal(1, 3, WIDTH)
    changed = x.copy()
    changed[:, 2] += normal(WIDTH, seed=1)

    before, after = number(block(x)), number(block(changed))

    assert (np.abs(before - after).max(axis=(0, 2)) > 1e-4).all()
    assert keras.backend.standardize_dtype(block(x).dtype) == "float32"
