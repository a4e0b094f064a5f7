import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import causal_mask, padding_mask

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
