"""Blocks and attention layers with the options of GPT-2, Llama and T5."""

import math

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import (
    GatedFeedForward,
    MultiHeadAttention,
    MultiHeadSelfAttention,
    RelativeBias,
    RotaryPositions,
    TransformerDecoder,
    TransformerEncoder,
    TransformerEncoderBlock,
)
from keras_transformer.layers import gelu_tanh
from tests.support.decoder_steps import (
    BATCH,
    LENGTH,
    WIDTH,
    assert_each_step_is_its_row_of,
    filled,
    normal,
    numbers,
    start,
)


def number(tensor):
    return ops.convert_to_numpy(tensor)


def test_the_tanh_of_gelu_is_the_formula():
    x = 2.0

    expected = x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2
    np.testing.assert_allclose(number(gelu_tanh(ops.convert_to_tensor(x))), expected, rtol=1e-6)


def test_a_gate_multiplies_the_inner_vector(assign):
    layer = GatedFeedForward(inner_width=2, activation="relu", use_bias=False)
    layer.build((None, 2))
    assign(
        layer,
        {"inner/kernel": [[1, -1], [1, 0]], "linear/kernel": [[0, 5], [3, 5]], "outer/kernel": np.eye(2)},
    )

    # [1, 2] -> relu [3, -1] = [3, 0]; linear [6, 15]; their product [18, 0]
    np.testing.assert_allclose(number(layer(np.array([[1.0, 2.0]]))), [[18, 0]])


def test_rms_normalisation_divides_by_the_root_of_the_mean_square(assign):
    block = TransformerEncoderBlock(
        num_heads=1, inner_width=2, norm_first=False, normalization="rms", epsilon=1e-9
    )
    block.build((None, None, 2))
    assign(block, {})

    # [3, 4] / √((9 + 16) / 2) = [3, 4] √2 / 5; a second time it stays
    np.testing.assert_allclose(
        number(block(np.array([[[3.0, 4.0]]]))), [[[0.6 * 2**0.5, 0.8 * 2**0.5]]], rtol=1e-5
    )


def test_a_block_without_biases_has_none():
    block = TransformerEncoderBlock(
        num_heads=2, inner_width=8, use_bias=False, normalization="rms", gated=True
    )
    block.build((None, None, 4))

    assert {weight.path.partition("/")[2]: weight.shape for weight in block.weights if weight.trainable} == {
        "self_attention/query_key_value/kernel": (4, 12),
        "self_attention/output/kernel": (4, 4),
        "self_attention_norm/scale": (4,),
        "feed_forward/inner/kernel": (4, 8),
        "feed_forward/linear/kernel": (4, 8),
        "feed_forward/outer/kernel": (8, 4),
        "feed_forward_norm/scale": (4,),
    }


def test_attention_options_have_the_last_word_on_biases():
    block = TransformerEncoderBlock(
        num_heads=2, inner_width=8, use_bias=False, attention_options={"use_bias": True}
    )
    block.build((None, None, 4))

    assert [layer.use_bias for layer in (block.self_attention, block.feed_forward)] == [True, False]


def test_the_scale_of_the_scores_is_the_one_that_is_given(assign):
    attention = MultiHeadSelfAttention(1, score_scale=2.0)
    attention.build((None, None, 2))
    assign(attention, {"query_key_value/kernel": np.hstack([np.eye(2)] * 3), "output/kernel": np.eye(2)})

    # scores of [1, 0] with [1, 0] and [0, 1]: 2 · [1, 0] -> weights e² / (e² + 1) and 1 / (e² + 1)
    _, weights = attention(np.eye(2, dtype="float32")[None], return_attention_scores=True)
    first = math.e**2 / (math.e**2 + 1)
    np.testing.assert_allclose(number(weights)[0, 0, 0], [first, 1 - first], rtol=1e-6)


@pytest.mark.parametrize("cross", [False, True])
def test_grouped_heads_are_heads_whose_keys_and_values_are_repeated(cross):
    grouped, full = (
        (MultiHeadAttention if cross else MultiHeadSelfAttention)(4, key_dim=3, num_key_value_heads=heads)
        for heads in (2, None)
    )
    x, memory = normal(2, 5, 8), normal(2, 3, 6, seed=1)
    arguments = (x, memory) if cross else (x,)
    allowed = np.random.default_rng(3).random((2, 4, 5, 3 if cross else 5)) < 0.7
    for layer in (grouped, full):
        layer(*arguments)

    def repeated(columns):
        """Columns of 2 heads of 3 -> of 4 heads of 3."""
        shape = columns.shape[:-1]
        return np.repeat(columns.reshape(*shape, 2, 3), 2, axis=-2).reshape(*shape, 12)

    for one, other in zip(grouped.trainable_weights, full.trainable_weights, strict=True):
        value = normal(*one.shape, seed=one.shape[-1])
        one.assign(value)
        fused = "key_value" in one.path
        parts = np.split(value, np.cumsum([12, 6, 6][2 - value.shape[-1] // 12 :])[:-1], axis=-1)
        other.assign(
            np.concatenate([part if part.shape[-1] == 12 else repeated(part) for part in parts], axis=-1)
            if fused
            else value
        )
    found, expected = (
        layer(*arguments, attention_mask=allowed, return_attention_scores=True) for layer in (grouped, full)
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(number(one), number(other), rtol=0, atol=1e-5)


def test_rotary_positions_turn_a_pair_of_dimensions_by_the_position():
    rotary, heads = RotaryPositions(base=100.0), np.array([1, 2, 0, 0], "float32").reshape(1, 1, 1, 4)

    # the pairs (0, 2) and (1, 3) turn by p and by p · 100^(-2/4) = p / 10
    found = number(rotary.rotate(ops.convert_to_tensor(heads), ops.convert_to_tensor([[3]])))
    expected = [math.cos(3), 2 * math.cos(0.3), math.sin(3), 2 * math.sin(0.3)]
    np.testing.assert_allclose(found[0, 0, 0], expected, rtol=1e-5)


def test_rotated_scores_depend_on_the_distance_of_two_positions_alone():
    rotary, query, key = RotaryPositions(), normal(1, 1, 1, 8), normal(1, 1, 1, 8, seed=1)

    def score(first, second):
        one, other = (
            number(rotary.rotate(ops.convert_to_tensor(heads), ops.convert_to_tensor([[position]])))
            for heads, position in ((query, first), (key, second))
        )
        return (one * other).sum()

    assert score(7, 4) == pytest.approx(score(103, 100), abs=1e-4)
    assert abs(score(7, 4) - score(7, 5)) > 0.01


def test_llama_3_slows_slow_rotations_and_keeps_fast_ones():
    rotary = RotaryPositions(
        base=2.0**16, factor=8.0, low_frequency_factor=1.0, high_frequency_factor=4.0,
        original_length=round(2 * math.pi * 2**10),
    )  # fmt: skip

    # of width 8: 1, 2^-4, 2^-8, 2^-12. In 2π · 2^10 positions they turn 2^10, 2^6, 2^2 and 2^-2 times
    np.testing.assert_allclose(rotary.frequencies(8), [1, 2**-4, 2**-8, 2**-12 / 8], rtol=1e-3)
    # width 16 has 2^-9 too: 2 turns, a third of the way from 1 to 4
    between = 2**-9 * (1 / 3 + 2 / 3 / 8)
    assert RotaryPositions(base=2.0**18, factor=8.0, original_length=6434).frequencies(4)[1] == pytest.approx(
        between, rel=1e-3
    )


def test_distances_have_the_buckets_of_t5():
    bias = RelativeBias(1, num_buckets=8, max_distance=8)
    bias.build()
    bias.table.assign(np.arange(8)[:, None])

    # 4 buckets a side, 2 of one distance: 0, 1, then 2 + ⌊2 log(d/2) / log(4)⌋: 2 for 2 and 3, 3 from 4
    earlier, later = [0, 1, 2, 2, 3, 3, 3], [5, 6, 6, 7, 7, 7]  # those of later positions come after them
    found = number(bias(ops.convert_to_tensor([[6]]), ops.arange(13)))[0, 0, 0]
    np.testing.assert_array_equal(found, [*earlier[::-1], *later])

    causal = RelativeBias(1, num_buckets=4, max_distance=8, bidirectional=False)
    causal.build()
    causal.table.assign(np.arange(4)[:, None])
    found = number(causal(ops.convert_to_tensor([[6]]), ops.arange(9)))[0, 0, 0]
    np.testing.assert_array_equal(found, [*earlier[::-1], 0, 0])


def test_a_stack_adds_one_relative_bias_to_the_scores_of_all_its_blocks(assign):
    stack = TransformerEncoder(2, num_heads=1, inner_width=2, relative_bias={"num_buckets": 4})
    stack.build((None, None, 2))
    assign(stack, {"position_bias/table": np.log([[1], [2], [3], [4]])})

    # all other scores are 0. Position 1 of 3: distances -1, 0, 1 in buckets 1, 0, 3 -> weights 2, 1, 4 of 7
    _, scores = stack(normal(1, 3, 2), return_attention_scores=True)
    for weights in scores:
        np.testing.assert_allclose(number(weights)[0, 0, 1], np.array([2, 1, 4]) / 7, rtol=1e-5)


COMBINED = {
    "llama": {
        "normalization": "rms", "gated": True, "use_bias": False, "activation": "silu",
        "attention_options": {"num_key_value_heads": 1, "key_dim": 6, "rotary": RotaryPositions()},
    },
    "t5": {
        "normalization": "rms", "use_bias": False,
        "attention_options": {"key_dim": 3, "value_dim": 5, "score_scale": 1.0},
        "relative_bias": {"num_buckets": 4, "max_distance": 6},
    },
}  # fmt: skip


@pytest.fixture(scope="module", params=COMBINED)
def decoder(request):
    decoder = TransformerDecoder(2, num_heads=2, inner_width=12, **COMBINED[request.param])
    decoder.build((None, None, WIDTH))
    for seed, weight in enumerate(decoder.trainable_weights):
        weight.assign(normal(*weight.shape, seed=seed))
    return decoder


@pytest.fixture(scope="module")
def full(decoder):
    output, *scores = decoder(normal(BATCH, LENGTH, WIDTH, seed=1), return_attention_scores=True)
    return number(output), [numbers(kind) for kind in scores]


def test_each_step_is_its_row_of_the_whole_at_any_position(decoder, full):
    targets, together = normal(BATCH, LENGTH, WIDTH, seed=1), [[place] * BATCH for place in range(LENGTH)]
    staggered = [[0, 0, 0], [1, 0, 0], [2, 1, 0], [3, 2, 0], [0, 3, 1], [1, 0, 2]]
    for schedule in (together, staggered):
        cache = filled(start(decoder, None), np.nan)
        assert_each_step_is_its_row_of(full, decoder, targets, cache, schedule, atol=1e-4)


def test_one_position_for_all_rows_is_the_same(decoder, full):
    targets, cache = normal(BATCH, LENGTH, WIDTH, seed=1), start(decoder, None)
    for position in range(LENGTH):
        output, cache = decoder.step(targets[:, position : position + 1], position, cache)
        np.testing.assert_allclose(number(output)[:, 0], full[0][:, position], rtol=0, atol=1e-4)


def test_a_prompt_in_two_pieces_each_row_where_it_stands_is_the_same(decoder, full):
    targets, rows, first = (
        normal(BATCH, LENGTH, WIDTH, seed=1),
        np.arange(BATCH)[:, None],
        np.array([1, 2, 1]),
    )
    _, cache = decoder.prefill(targets[:, :2], start(decoder, None), lengths=first)

    piece = np.minimum(first[:, None] + np.arange(3), LENGTH - 1)
    output, _ = decoder.prefill(targets[rows, piece], cache, lengths=LENGTH - first, position=first)

    for row, begin in enumerate(first):
        np.testing.assert_allclose(
            number(output)[row, : LENGTH - begin], full[0][row, begin:], rtol=0, atol=1e-4
        )


def test_later_tokens_change_nothing_before_them(decoder, full):
    changed = normal(BATCH, LENGTH, WIDTH, seed=1)
    changed[:, 2:] += 1

    np.testing.assert_allclose(number(decoder(changed))[:, :2], full[0][:, :2], rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", [TransformerEncoder, TransformerDecoder])
def test_the_configuration_of_a_plain_stack_is_that_of_earlier_releases(kind):
    names = {"name", "trainable", "dtype", "num_layers", "num_heads", "inner_width", "dropout", "seed",
             "attention_dropout", "inner_dropout", "activation", "norm_first", "epsilon"}  # fmt: skip

    assert kind().get_config().keys() - {"causal"} == names
    assert not MultiHeadSelfAttention(2).get_config().keys() & {
        "rotary",
        "score_scale",
        "num_key_value_heads",
    }


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MultiHeadAttention(4, num_key_value_heads=3), "must divide num_heads, 4; got 3"),
        (lambda: MultiHeadAttention(4, score_scale=0), "score_scale must be a finite number above 0; got 0"),
        (lambda: TransformerEncoder(normalization="batch"), "one of layer, rms; got 'batch'"),
        (lambda: TransformerEncoder(gated="yes"), "gated must be True or False; got 'yes'"),
        (
            lambda: RotaryPositions(base=-1),
            "base must be a finite number above 0; got -1",
        ),
        (
            lambda: RotaryPositions(low_frequency_factor=5),
            "above low_frequency_factor; got 4.0 and 5",
        ),
        (lambda: RelativeBias(2, num_buckets=3), "num_buckets must be at least 4; got 3"),
        (lambda: RelativeBias(2, num_buckets=32, max_distance=8), "above 8 for 32 buckets; got 8"),
        (
            lambda: MultiHeadSelfAttention(2, rotary=RotaryPositions())(np.zeros((1, 2, 6))),
            "even width of a head; got 3",
        ),
    ],
)
def test_an_option_out_of_range_is_refused_with_what_is_allowed(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_an_option_that_attention_does_not_have_is_refused_by_name():
    with pytest.raises((TypeError, ValueError), match="rotery"):
        TransformerEncoder(attention_options={"rotery": None})


def test_a_saved_decoder_with_all_options_answers_the_same(decoder, tmp_path):
    inputs = keras.Input((None, WIDTH))
    model = keras.Model(inputs, decoder(inputs))
    model.save(tmp_path / "model.keras")

    x = normal(2, 3, WIDTH)
    np.testing.assert_array_equal(
        number(keras.models.load_model(tmp_path / "model.keras")(x)), number(model(x))
    )
