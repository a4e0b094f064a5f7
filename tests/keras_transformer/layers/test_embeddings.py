import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import PositionalEncoding, TokenEmbedding
from tests.support.compiling import JIT

TABLE = [[0, 1], [2, 3], [4, 5]]


def embedding(**settings):
    layer = TokenEmbedding(vocabulary_size=3, width=2, **settings)
    layer.build((None, None))
    layer.weights[0].assign(TABLE)
    return layer


def test_an_id_becomes_its_row_times_the_root_of_the_width():
    vectors = ops.convert_to_numpy(embedding()(np.array([[2, 1]])))

    np.testing.assert_allclose(vectors, [[[4 * 2**0.5, 5 * 2**0.5], [2 * 2**0.5, 3 * 2**0.5]]], rtol=1e-6)


def test_scale_false_gives_the_row_itself():
    np.testing.assert_array_equal(
        ops.convert_to_numpy(embedding(scale=False)(np.array([[2, 1]]))), [[[4, 5], [2, 3]]]
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_vectors_in_half_precision_are_scaled_in_float32_and_rounded_once(dtype):
    layer = TokenEmbedding(50, 8, dtype="mixed_" + dtype)

    vectors = layer(np.arange(50)[None])

    expected = ops.cast(ops.convert_to_tensor(layer.weights[0]) * 8**0.5, dtype)
    np.testing.assert_array_equal(
        ops.convert_to_numpy(ops.cast(vectors, "float32"))[0],
        ops.convert_to_numpy(ops.cast(expected, "float32")),
    )


def test_adams_first_step_moves_a_vector_by_its_rate_however_often_the_id_comes():
    keras.utils.set_random_seed(3)
    ids, rate = keras.Input((None,), dtype="int32"), 1e-3
    x = TokenEmbedding(9, 4, name="tokens")(ids)
    x = PositionalEncoding(5, "learned", name="places")(x, ops.minimum(ids, 4))
    classifier = keras.Model(ids, keras.layers.Dense(1)(keras.layers.GlobalAveragePooling1D()(x)))
    tables = [classifier.get_layer(name).weights[0] for name in ("tokens", "places")]
    before = [ops.convert_to_numpy(ops.copy(table)) for table in tables]
    classifier.compile(keras.optimizers.Adam(rate, epsilon=1e-12), "mse", jit_compile=JIT)

    classifier.fit(np.repeat([[7, 7, 7, 3, 8]], 16, axis=0), np.ones((16, 1)), batch_size=16, verbose=0)

    # the first step is rate * g / |g|: 1 rate for each number of the rows that came, of 16 or of 48 tokens
    for table, old, came in zip(tables, before, ([3, 7, 8], [3, 4]), strict=True):
        steps = np.abs(ops.convert_to_numpy(table) - old) / rate
        expected = np.isin(np.arange(len(old)), came)[:, None] * np.ones(4)
        np.testing.assert_allclose(steps, expected, atol=1e-3)


@pytest.mark.parametrize("scale", [True, False])
def test_the_way_back_is_the_product_with_every_row(scale):
    logits = embedding(scale=scale)(np.array([[[1.0, 10.0]]]), reverse=True)

    # [1, 10] with [0, 1], [2, 3], [4, 5]; the way back is never scaled
    np.testing.assert_allclose(ops.convert_to_numpy(logits), [[[10, 32, 54]]])


def test_there_and_back_share_one_weight():
    layer = embedding()
    layer(np.array([[1]]))
    layer(np.zeros((1, 1, 2)), reverse=True)

    assert [weight.shape for weight in layer.weights] == [(3, 2)]


def test_the_way_back_can_be_the_first_use():
    layer = TokenEmbedding(vocabulary_size=3, width=2)

    assert tuple(layer(np.zeros((1, 4, 2)), reverse=True).shape) == (1, 4, 3)


@pytest.mark.parametrize("scale", [True, False])
def test_vectors_start_with_a_spread_of_one(scale):
    keras.utils.set_random_seed(0)
    vectors = TokenEmbedding(vocabulary_size=1000, width=64, scale=scale)(np.arange(1000)[None])

    np.testing.assert_allclose(np.std(ops.convert_to_numpy(vectors)), 1, atol=0.02)


@pytest.mark.parametrize(("pad_id", "real"), [(0, [True, False, True]), (2, [False, True, True])])
def test_vectors_carry_a_mask_that_is_false_for_padding(pad_id, real):
    ids = ops.convert_to_tensor([[2, 0, 1]])

    mask = embedding(pad_id=pad_id).compute_mask(ids)

    np.testing.assert_array_equal(ops.convert_to_numpy(mask), [real])


def test_without_a_padding_id_there_is_no_mask():
    assert embedding(pad_id=None).compute_mask(ops.convert_to_tensor([[2, 0, 1]])) is None


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_ids_of_any_integer_type_are_taken(dtype):
    vectors = embedding(scale=False)(np.array([[2]], dtype))

    np.testing.assert_array_equal(ops.convert_to_numpy(vectors), [[[4, 5]]])


def test_vectors_of_another_width_have_no_way_back():
    with pytest.raises(ValueError, match=r"reverse=True takes vectors of width 2; got shape \(1, 4, 3\)"):
        embedding()(np.zeros((1, 4, 3)), reverse=True)


@pytest.mark.parametrize(
    ("vocabulary_size", "width", "told"),
    [
        (0, 4, "vocabulary_size must be at least 1; got 0"),
        (4, 0, "width must be at least 1; got 0"),
        (4, 8.0, r"width must be a whole number of at least 1; got 8\.0\. Try width=8"),
    ],
)
def test_an_empty_table_is_refused(vocabulary_size, width, told):
    with pytest.raises(ValueError, match=told):
        TokenEmbedding(vocabulary_size, width)


@pytest.mark.parametrize("pad_id", [3, -1])
def test_a_padding_id_outside_the_vocabulary_is_refused(pad_id):
    with pytest.raises(ValueError, match=rf"an id of the vocabulary, 0 to 2; got {pad_id}"):
        TokenEmbedding(3, 2, pad_id=pad_id)
