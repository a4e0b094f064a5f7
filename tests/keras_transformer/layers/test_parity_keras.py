"""The same weights in keras.layers.MultiHeadAttention, which nobody here wrote, give the same numbers."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import MultiHeadAttention, MultiHeadSelfAttention, causal_mask
from tests.support.layer_cases import number, same

BATCH, TARGET, SOURCE, WIDTH, HEADS = 3, 4, 5, 8, 2
HEAD_WIDTH = WIDTH // HEADS
REAL = np.arange(SOURCE) < np.array([[5], [2], [1]])


def normal(*shape, seed):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def same_weights(ours, query_kernel, key_kernel, value_kernel, query_bias, key_bias, value_bias):
    """A Keras attention with our weights: its kernels are (D, H, K), and (H, K, D) for the output."""
    theirs = keras.layers.MultiHeadAttention(HEADS, key_dim=HEAD_WIDTH)
    value_width = key_kernel.shape[0]
    theirs.build((None, None, WIDTH), (None, None, value_width), (None, None, value_width))
    values = {
        "query/kernel": query_kernel.reshape(-1, HEADS, HEAD_WIDTH),
        "key/kernel": key_kernel.reshape(-1, HEADS, HEAD_WIDTH),
        "value/kernel": value_kernel.reshape(-1, HEADS, HEAD_WIDTH),
        "query/bias": query_bias.reshape(HEADS, HEAD_WIDTH),
        "key/bias": key_bias.reshape(HEADS, HEAD_WIDTH),
        "value/bias": value_bias.reshape(HEADS, HEAD_WIDTH),
        "output/kernel": ours["output/kernel"].reshape(HEADS, HEAD_WIDTH, WIDTH),
        "output/bias": ours["output/bias"],
    }
    for weight in theirs.weights:
        weight.assign(values.pop("/".join(weight.path.replace("attention_output", "output").split("/")[-2:])))
    assert not values
    return theirs


def random_weights(layer):
    """Every weight drawn, the biases too; by the end of its path."""
    drawn = {}
    for seed, weight in enumerate(layer.weights):
        drawn["/".join(weight.path.split("/")[-2:])] = values = normal(*weight.shape, seed=seed)
        weight.assign(values)
    return drawn


@pytest.fixture(scope="module")
def self_attention():
    ours = MultiHeadSelfAttention(HEADS)
    ours.build((None, None, WIDTH))
    drawn = random_weights(ours)
    kernels = np.split(drawn["query_key_value/kernel"], 3, axis=1)
    biases = np.split(drawn["query_key_value/bias"], 3)
    return ours, same_weights(drawn, *kernels, *biases)


@pytest.fixture(scope="module")
def cross_attention():
    ours = MultiHeadAttention(HEADS)
    ours.build((None, None, WIDTH), (None, None, 6))
    drawn = random_weights(ours)
    kernels = [drawn["query/kernel"], *np.split(drawn["key_value/kernel"], 2, axis=1)]
    biases = [drawn["query/bias"], *np.split(drawn["key_value/bias"], 2)]
    return ours, same_weights(drawn, *kernels, *biases)


def assert_same(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            ops.convert_to_numpy(ours), ops.convert_to_numpy(theirs), rtol=0, atol=1e-5
        )


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_self_attention(self_attention, padded, causal):
    ours, theirs = self_attention
    x = normal(BATCH, SOURCE, WIDTH, seed=10)
    mask = ops.convert_to_tensor(REAL) if padded else None

    found = ours(
        x,
        attention_mask=causal_mask(SOURCE) if causal else None,
        mask=mask,
        return_attention_scores=True,
    )
    # value_mask, not query_mask: Keras would blank the rows of padded queries as well
    expected = theirs(x, x, value_mask=mask, use_causal_mask=causal, return_attention_scores=True)

    assert_same(found, expected)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_cross_attention(cross_attention, padded, masked):
    ours, theirs = cross_attention
    query, value = normal(BATCH, TARGET, WIDTH, seed=10), normal(BATCH, SOURCE, 6, seed=11)
    allowed = np.random.default_rng(12).random((BATCH, TARGET, SOURCE)) < 0.7
    allowed[:, :, 0] = True  # Keras gives a row that may attend to nothing equal weights, not zeros
    masks = {"attention_mask": allowed if masked else None, "value_mask": REAL if padded else None}

    found = ours(query, value, return_attention_scores=True, **masks)
    expected = theirs(query, value, return_attention_scores=True, **masks)

    assert_same(found, expected)


def test_a_mask_for_each_head(cross_attention):
    ours, theirs = cross_attention
    query, value = normal(BATCH, TARGET, WIDTH, seed=10), normal(BATCH, SOURCE, 6, seed=11)
    allowed = np.random.default_rng(13).random((BATCH, HEADS, TARGET, SOURCE)) < 0.6
    allowed[..., 0] = True

    assert_same(
        ours(query, value, attention_mask=allowed, return_attention_scores=True),
        theirs(query, value, attention_mask=allowed, return_attention_scores=True),
    )


WIDE = {"num_heads": 3, "key_dim": 5, "value_dim": 7}  # of the width 8: no divisor, all three different


@pytest.mark.parametrize("with_key", [False, True])
@pytest.mark.parametrize("use_bias", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_a_call_in_keras_own_order_with_keras_own_arguments(with_key, use_bias, causal):
    ours = MultiHeadAttention(**WIDE, use_bias=use_bias)
    theirs = keras.layers.MultiHeadAttention(**WIDE, use_bias=use_bias)
    query, value = normal(BATCH, TARGET, WIDTH, seed=10), normal(BATCH, SOURCE, 6, seed=11)
    sequences = [query, value, normal(BATCH, SOURCE, 6 if not with_key else 9, seed=12)][: 2 + with_key]
    settings = {"use_causal_mask": causal, "return_attention_scores": True}
    for layer in (ours, theirs):
        layer(*sequences, **settings)  # without the scores Keras' own fails on JAX: value_dim is not key_dim
    drawn = random_weights(ours)
    if not with_key:
        for kind in ("kernel", "bias")[: 1 + use_bias]:
            both = drawn.pop(f"key_value/{kind}")
            drawn[f"key/{kind}"], drawn[f"value/{kind}"] = np.split(both, [15], axis=-1)
    for weight in theirs.weights:
        name = "/".join(weight.path.replace("attention_output", "output").split("/")[-2:])
        weight.assign(drawn.pop(name).reshape(weight.shape))
    assert not drawn

    assert_same(ours(*sequences, **settings), theirs(*sequences, **settings))


def test_a_key_mask_hides_keys_as_a_value_mask_does(cross_attention):
    ours, _ = cross_attention
    query, value = normal(BATCH, TARGET, WIDTH, seed=10), normal(BATCH, SOURCE, 6, seed=11)

    same(ours(query, value, key_mask=REAL), ours(query, value, value_mask=REAL), atol=0)


@pytest.mark.parametrize("seed", [None, 1])
def test_an_initialiser_and_a_regulariser_apply_to_each_projection_alone(seed):
    keras.utils.set_random_seed(1)
    layer = MultiHeadSelfAttention(
        2,
        kernel_initializer=keras.initializers.GlorotUniform(seed),
        bias_initializer="ones",
        kernel_regularizer=keras.regularizers.L2(0.5),
    )
    layer.build((None, None, 256))
    fused = ops.convert_to_numpy(layer.query_key_value_projection.kernel)
    limit = (6 / 512) ** 0.5

    parts = np.split(fused, 3, axis=1)
    for part in parts:
        np.testing.assert_allclose([part.min(), part.max()], [-limit, limit], rtol=1e-3)
    assert (np.array_equal(parts[0], parts[1])) == (seed is not None)  # a seed is each one's, as in Keras
    np.testing.assert_array_equal(number(layer.query_key_value_projection.bias), 1)
    kernels = [fused, ops.convert_to_numpy(layer.output_projection.kernel)]
    np.testing.assert_allclose(
        number(sum(layer.losses)), sum(0.5 * (kernel**2).sum() for kernel in kernels), rtol=1e-5
    )


def test_a_key_and_the_layer_that_has_one_are_saved_and_loaded(tmp_path):
    inputs = [keras.Input((None, width)) for width in (WIDTH, 6, 9)]
    model = keras.Model(inputs, MultiHeadAttention(**WIDE)(*inputs))
    arrays = [
        normal(BATCH, TARGET, WIDTH, seed=1),
        *(normal(BATCH, SOURCE, width, seed=2) for width in (6, 9)),
    ]
    model.save(tmp_path / "model.keras")

    found = keras.models.load_model(tmp_path / "model.keras")(arrays)

    assert_same([found], [model(arrays)])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((2, 4, 8)), np.ones((3, 5, 6))), "same number of rows; query has 2, value has 3"),
        (
            (np.ones((2, 4, 8)), np.ones((2, 5, 6)), np.ones((2, 4, 5), "bool")),
            "key must be.*as attention_mask",
        ),
        ((np.ones((2, 4, 8)), np.ones((2, 5, 6)), np.ones((2, 5, 6))), "was built without a key"),
    ],
    ids=["another_batch", "a_mask_as_key", "a_key_too_late"],
)
def test_a_sequence_that_does_not_fit_is_refused(cross_attention, arguments, message):
    with pytest.raises(ValueError, match=message):
        cross_attention[0](*arguments)
