import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import (
    MultiHeadAttention,
    MultiHeadSelfAttention,
    TransformerDecoder,
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
)

tensorflow_only = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="only TensorFlow has lengths unknown while it traces"
)


def test_a_padding_mask_is_true_where_a_token_is_real():
    mask = padding_mask(np.array([[7, 8, 0], [9, 0, 0]]))

    np.testing.assert_array_equal(ops.convert_to_numpy(mask), [[[True, True, False]], [[True, False, False]]])
    assert keras.backend.standardize_dtype(mask.dtype) == "bool"


def test_a_padding_mask_takes_any_id_for_padding():
    mask = padding_mask(np.array([[0, 1, 2]]), pad_id=1)

    np.testing.assert_array_equal(ops.convert_to_numpy(mask), [[[True, False, True]]])


def test_a_causal_mask_lets_a_position_see_itself_and_what_came_before():
    mask = causal_mask(3)

    np.testing.assert_array_equal(
        ops.convert_to_numpy(mask), [[[True, False, False], [True, True, False], [True, True, True]]]
    )
    assert keras.backend.standardize_dtype(mask.dtype) == "bool"


def test_a_causal_mask_of_one_position_allows_it():
    np.testing.assert_array_equal(ops.convert_to_numpy(causal_mask(1)), [[[True]]])


def test_padding_and_causal_masks_combine_with_an_ampersand():
    mask = padding_mask(np.array([[5, 0, 6]])) & causal_mask(3)

    # row t may see the columns up to t, without column 1, which is padding
    np.testing.assert_array_equal(
        ops.convert_to_numpy(mask), [[[True, False, False], [True, False, False], [True, False, True]]]
    )


def test_a_causal_mask_of_an_unknown_length_is_refused_with_what_to_do():
    with pytest.raises(ValueError, match=r"needs the length; got None\. A decoder is causal by itself"):
        causal_mask(keras.Input((None, 4)).shape[1])


@tensorflow_only
def test_masks_take_lengths_that_are_only_known_at_run_time():
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)])
    def both(ids):
        return padding_mask(ids) & causal_mask(tf.shape(ids)[1])

    np.testing.assert_array_equal(both(np.array([[4, 0]], "int32")), [[[True, False], [True, False]]])
    assert both(np.ones((2, 5), "int32")).shape == (2, 5, 5)


X, ADDED = np.ones((1, 2, 4), "float32"), np.array([[[0, -1e9], [0, 0]]], "float32")  # PyTorch's mask


@pytest.mark.parametrize(
    "call",
    [
        lambda mask: MultiHeadSelfAttention(2)(X, attention_mask=mask),
        lambda mask: MultiHeadAttention(2)(X, X, attention_mask=mask),
        lambda mask: MultiHeadSelfAttention(2)(X, mask=mask[0, :1]),
        lambda mask: TransformerDecoder(1, num_heads=2, inner_width=4)(X, attention_mask=mask),
        lambda mask: scaled_dot_product_attention(X, X, X, mask),
    ],
    ids=["self_attention", "attention", "padding", "decoder", "function"],
)
def test_a_mask_that_is_added_to_the_scores_is_refused(call):
    with pytest.raises(ValueError, match=r"False \(or 0\) where not; got -1e\+?0?9|got -1000000000\.0"):
        call(ADDED)


def test_a_mask_of_integers_that_is_added_to_the_scores_is_refused():
    with pytest.raises(ValueError, match=r"False \(or 0\) where not; got -1000000000\. .*mask == 0"):
        MultiHeadSelfAttention(2)(X, attention_mask=ADDED.astype("int32"))


def test_integers_of_0_and_1_are_a_mask():
    layer = MultiHeadSelfAttention(2)
    found, expected = (layer(X, attention_mask=(ADDED == 0).astype(kind)) for kind in ("int32", "bool"))
    np.testing.assert_array_equal(*(ops.convert_to_numpy(one) for one in (found, expected)))


@pytest.mark.parametrize("dtype", ["float32", "mixed_float16"])
def test_floats_of_exactly_0_and_1_are_a_mask(dtype):
    layer = MultiHeadSelfAttention(2, dtype=dtype)
    allowed = np.array([[[1, 0], [1, 1]]])

    found, expected = (layer(X, attention_mask=allowed.astype(kind)) for kind in ("float32", "bool"))

    np.testing.assert_array_equal(
        *(ops.convert_to_numpy(ops.cast(one, "float32")) for one in (found, expected))
    )


def test_a_mask_of_floats_is_refused_while_a_model_is_being_made():
    with pytest.raises(ValueError, match=r'got float32\. Declare it as keras\.Input\(\.\.\., dtype="bool"\)'):
        MultiHeadSelfAttention(2)(keras.Input((2, 4)), attention_mask=keras.Input((2, 2)))


@tensorflow_only
def test_a_mask_of_floats_is_refused_while_a_function_is_traced():
    import tensorflow as tf

    layer = MultiHeadSelfAttention(2)

    with pytest.raises(ValueError, match=r"whose values are not known yet must be boolean.*got float32"):
        tf.function(lambda mask: layer(X, attention_mask=mask))(tf.ones((1, 2, 2)))


@keras.saving.register_keras_serializable(package="tests")
class Masked(keras.Model):
    """A subclassed model with a mask among its inputs, which Keras declares as floats when it loads it."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.attention = MultiHeadSelfAttention(2)

    def call(self, inputs):
        return self.attention(inputs["x"], attention_mask=inputs["mask"])


def test_a_subclassed_model_with_a_mask_among_its_inputs_loads_with_its_weights(tmp_path):
    model, inputs = Masked(), {"x": np.random.rand(1, 2, 4).astype("float32"), "mask": ADDED == 0}
    expected = ops.convert_to_numpy(model(inputs))
    model.save(tmp_path / "model.keras")

    found = keras.models.load_model(tmp_path / "model.keras")(inputs)

    np.testing.assert_allclose(ops.convert_to_numpy(found), expected, atol=1e-6)
