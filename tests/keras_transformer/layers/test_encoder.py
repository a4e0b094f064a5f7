import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import TransformerEncoder, TransformerEncoderBlock

SMALL = {"num_heads": 1, "inner_width": 2}


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def built(layer):
    layer.build((None, None, 2))
    return layer


def on(layer, *vectors):
    return ops.convert_to_numpy(layer(np.array([vectors], "float32")))[0]


def normalised(*vector, epsilon=1e-5):
    vector = np.array(vector, "float64")
    return (vector - vector.mean()) / np.sqrt(vector.var() + epsilon)


# values and outputs are the vector itself; a lone token attends to itself alone
ATTEND = {
    "query_key_value/kernel": np.hstack([np.zeros((2, 4)), np.eye(2)]),
    "self_attention/output/kernel": np.eye(2),
}
# [a, b] -> relu -> [10 relu(b), relu(a)]
FEED = {"inner/kernel": np.eye(2), "outer/kernel": [[0, 1], [10, 0]]}


def test_a_pre_norm_block_adds_what_attention_makes_of_the_normalised_input(assign):
    block = built(TransformerEncoderBlock(**SMALL))
    assign(block, ATTEND)

    # [3, 1] normalised is [1, -1], attention gives it back: [3, 1] + [1, -1] = [4, 0]
    np.testing.assert_allclose(on(block, [3, 1]), [[4, 0]], atol=2e-5)


def test_a_post_norm_block_normalises_the_sum(assign):
    block = built(TransformerEncoderBlock(norm_first=False, **SMALL))
    assign(block, ATTEND)

    # [3, 1] + [3, 1] = [6, 2] -> [1, -1]; the feed-forward half adds nothing and normalises once more
    np.testing.assert_allclose(on(block, [3, 1]), [normalised(*normalised(6, 2))], atol=1e-6)


def test_a_pre_norm_block_feeds_forward_the_normalised_input(assign):
    block = built(TransformerEncoderBlock(**SMALL))
    assign(block, FEED)

    # [1, 3] normalised is [-1, 1] -> relu [0, 1] -> [10, 0]; [1, 3] + [10, 0]
    np.testing.assert_allclose(on(block, [1, 3]), [[11, 3]], atol=1e-4)


def test_a_post_norm_block_feeds_forward_and_then_normalises(assign):
    block = built(TransformerEncoderBlock(norm_first=False, **SMALL))
    assign(block, FEED)

    # attention adds nothing: [1, 3] -> [-1, 1] -> relu [0, 1] -> [10, 0]; [-1, 1] + [10, 0] = [9, 1]
    np.testing.assert_allclose(on(block, [1, 3]), [normalised(9, 1)], atol=1e-4)


def test_each_position_takes_the_mean_of_all_when_scores_are_equal(assign):
    block = built(TransformerEncoderBlock(**SMALL))
    assign(block, ATTEND)

    # normalised [1, -1] and [-1, 1] have the mean [0, 0]: nothing is added
    np.testing.assert_allclose(on(block, [3, 1], [1, 3]), [[3, 1], [1, 3]], atol=1e-6)


def test_a_pre_norm_stack_closes_with_a_normalisation(assign):
    encoder = built(TransformerEncoder(num_layers=2, **SMALL))
    assign(encoder, {})

    np.testing.assert_allclose(on(encoder, [3, 1]), [[1, -1]], atol=1e-5)
    assert "/norm/gamma" in " ".join(weight.path for weight in encoder.weights)


def test_a_post_norm_stack_has_no_normalisation_of_its_own():
    encoder = built(TransformerEncoder(num_layers=2, norm_first=False, **SMALL))

    assert all("/block_" in weight.path for weight in encoder.weights)


@pytest.mark.parametrize("norm_first", [True, False])
def test_normalisation_adds_one_hundred_thousandth_to_the_variance(assign, norm_first):
    encoder = built(TransformerEncoder(num_layers=1, norm_first=norm_first, **SMALL))
    assign(encoder, {})
    a = 1e-5**0.5

    # variance a² = 1e-5: a / √(1e-5 + 1e-5) = 1/√2; post-norm once more: (1/√2) / √(1/2 + 1e-5) = 1
    expected = 0.5**0.5 if norm_first else 1
    np.testing.assert_allclose(on(encoder, [a, -a]), [[expected, -expected]], atol=2e-5)


def test_another_epsilon_reaches_every_normalisation():
    encoder = built(TransformerEncoder(num_layers=1, epsilon=0.5, **SMALL))

    # every sublayer is a residual around a normalisation of [1, -1] / √(1 + 0.5)
    norms = [
        layer for layer in encoder._flatten_layers() if isinstance(layer, keras.layers.LayerNormalization)
    ]
    assert len(norms) == 3
    for norm in norms:
        np.testing.assert_allclose(on(norm, [1, -1]), [normalised(1, -1, epsilon=0.5)], atol=1e-6)


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_stack_is_its_blocks_one_after_the_other(norm_first):
    encoder = TransformerEncoder(num_layers=3, num_heads=2, inner_width=8, norm_first=norm_first)
    x = normal(2, 3, 4)
    output, scores = encoder(x, return_attention_scores=True)

    expected, each = x, []
    for block in encoder.blocks:
        expected, weights = block(expected, return_attention_scores=True)
        each.append(weights)
    if norm_first:
        expected = encoder.norm(expected)

    np.testing.assert_allclose(ops.convert_to_numpy(output), ops.convert_to_numpy(expected), atol=1e-6)
    assert len(scores) == 3
    for found, wanted in zip(scores, each, strict=True):
        np.testing.assert_allclose(ops.convert_to_numpy(found), ops.convert_to_numpy(wanted), atol=1e-6)


def double(x):
    return 2 * x


def test_any_function_can_be_the_activation(assign):
    block = built(TransformerEncoderBlock(activation=double, **SMALL))
    assign(block, FEED)

    # [1, 3] normalised is [-1, 1] -> doubled [-2, 2] -> [20, -2]; [1, 3] + [20, -2]
    np.testing.assert_allclose(on(block, [1, 3]), [[21, 1]], atol=2e-4)
    encoder = TransformerEncoder(num_layers=1, activation=double, **SMALL)
    assert encoder.blocks[0].feed_forward.activation is double


def test_attention_dropout_falls_on_the_weights_and_dropout_on_what_a_sublayer_adds(assign):
    x = np.ones((1, 300, 2), "float32") * [3, 1]
    weights_dropped = built(TransformerEncoderBlock(dropout=0, attention_dropout=0.5, seed=1, **SMALL))
    sublayer_dropped = built(TransformerEncoderBlock(dropout=0.5, seed=1, **SMALL))
    for block in weights_dropped, sublayer_dropped:
        assign(block, ATTEND)

    # 300 equal keys: half of the weights 1/300 are dropped, the others doubled: about [3, 1] + [1, -1]
    found = ops.convert_to_numpy(weights_dropped(x, training=True))[0] - [3, 1]
    assert len(np.unique(found[:, 0].round(4))) > 20
    np.testing.assert_allclose(found.mean(0), [1, -1], atol=0.02)
    # what attention adds, [1, -1], is dropped or doubled coordinate by coordinate
    found = ops.convert_to_numpy(sublayer_dropped(x, training=True))[0] - [3, 1]
    np.testing.assert_allclose(np.unique(found[:, 0].round(3)), [0, 2], atol=1e-3)
    np.testing.assert_allclose(np.unique(found[:, 1].round(3)), [-2, 0], atol=1e-3)


def test_heads_that_do_not_divide_the_width_are_refused_with_some_that_do():
    with pytest.raises(
        ValueError, match=r"width must be divisible by num_heads; got 12 and 8\. Try num_heads=6"
    ):
        TransformerEncoder(num_layers=1)(np.zeros((1, 2, 12)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_layers": 0}, "num_layers must be at least 1; got 0"),
        ({"num_heads": 0}, "num_heads must be at least 1; got 0"),
        ({"inner_width": 0}, "inner_width must be at least 1; got 0"),
        ({"num_heads": 2.0}, r"num_heads must be a whole number of at least 1; got 2\.0\. Try num_heads=2\."),
        ({"num_heads": "2"}, "num_heads must be a whole number of at least 1; got '2'"),
        ({"dropout": 1.0}, r"dropout must be at least 0 and below 1.*got 1\.0"),
        ({"inner_dropout": 1}, "inner_dropout must be at least 0 and below 1.*got 1"),
        ({"attention_dropout": -0.5}, r"attention_dropout must be at least 0 and below 1.*got -0\.5"),
        ({"epsilon": -1}, "epsilon must be above 0, such as 1e-5; got -1"),
        ({"epsilon": 0.0}, r"epsilon must be above 0, such as 1e-5; got 0\.0"),
        ({"activation": "geluu"}, "geluu"),
    ],
)
def test_settings_that_make_no_encoder_are_refused_with_their_value(settings, message):
    with pytest.raises(ValueError, match=message):
        TransformerEncoder(**settings)


def test_a_number_by_position_is_the_number_of_heads_or_refused_but_never_something_else():
    with pytest.raises(TypeError, match="positional"):
        TransformerEncoder(6, 8)


def test_an_input_of_another_rank_is_refused():
    with pytest.raises(ValueError, match=r"shape \(batch, time, width\) with a known width; got \(3, 8\)"):
        TransformerEncoder(num_layers=1)(np.zeros((3, 8)))


@pytest.mark.parametrize("norm_first", [True, False])
def test_another_width_than_at_first_is_refused_with_both(norm_first):
    encoder = TransformerEncoder(num_layers=1, num_heads=2, inner_width=8, norm_first=norm_first)
    encoder(np.zeros((2, 3, 8)))

    with pytest.raises(ValueError, match=r"8.*\(2, 3, 4\)"):
        encoder(np.zeros((2, 3, 4)))


def test_an_attention_mask_of_another_shape_is_refused_with_the_right_one():
    with pytest.raises(ValueError, match=r"= \(2, 3, 3\), each dimension its size or 1.*got \(2, 3\)"):
        TransformerEncoder(num_layers=1, num_heads=2)(np.zeros((2, 3, 4)), attention_mask=np.ones((2, 3)))
