"""Token types and the class token: their values by hand, and the mask that layers after them receive."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import TokenEmbedding
from keras_transformer.layers.class_token import ClassToken
from keras_transformer.layers.token_types import TokenTypeEmbedding
from tests.support.layer_cases import number

IDS = np.array([[5, 6, 0], [7, 0, 0]])


def mask_of(outputs: object) -> np.ndarray:
    return ops.convert_to_numpy(outputs._keras_mask)


def test_each_token_gets_the_vector_of_its_type() -> None:
    layer = TokenTypeEmbedding(num_types=2)
    layer.build((None, None, 2))
    layer.table.assign([[1.0, 2.0], [10.0, 20.0]])
    x = np.zeros((1, 3, 2), "float32")
    np.testing.assert_array_equal(number(layer(x, np.array([[0, 1, 1]]))), [[[1, 2], [10, 20], [10, 20]]])
    np.testing.assert_array_equal(number(layer(x)), [[[1, 2]] * 3])


def test_a_type_that_the_layer_does_not_have_is_refused() -> None:
    layer = TokenTypeEmbedding(num_types=2)
    with pytest.raises(ValueError, match="token_types must be whole numbers from 0 to 1; got 2"):
        layer(np.zeros((1, 2, 4), "float32"), np.array([[0, 2]]))
    with pytest.raises(ValueError, match="num_types must be at least 1; got 0"):
        TokenTypeEmbedding(num_types=0)


def test_the_padding_stays_hidden_behind_the_token_types() -> None:
    vectors = TokenEmbedding(10, 4)(IDS)
    layer = TokenTypeEmbedding(num_types=2)
    for outputs in (layer(vectors), layer(vectors, np.ones_like(IDS))):
        np.testing.assert_array_equal(mask_of(outputs), IDS != 0)


def test_the_class_token_is_the_first_position_and_is_never_hidden() -> None:
    layer = ClassToken()
    outputs = layer(TokenEmbedding(10, 4)(IDS))
    assert tuple(outputs.shape) == (2, 4, 4)
    vector = ops.convert_to_numpy(layer.vector)[0, 0]
    np.testing.assert_array_equal(ops.convert_to_numpy(outputs)[:, 0], [vector, vector])
    np.testing.assert_array_equal(mask_of(outputs), [[1, 1, 1, 0], [1, 1, 0, 0]])


def test_a_functional_model_of_both_is_saved_with_the_same_bits(tmp_path) -> None:
    ids, types = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
    x = ClassToken()(TokenTypeEmbedding(num_types=2)(TokenEmbedding(10, 4)(ids), types))
    model = keras.Model([ids, types], keras.layers.GlobalAveragePooling1D()(x))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    given = [IDS, (IDS > 5).astype("int32")]
    np.testing.assert_array_equal(ops.convert_to_numpy(loaded(given)), ops.convert_to_numpy(model(given)))
    shorter = [each[:1, :2] for each in given]  # what follows is padding, which the pooling ignores
    np.testing.assert_allclose(
        ops.convert_to_numpy(model(shorter))[0], ops.convert_to_numpy(model(given))[0], rtol=0, atol=1e-6
    )
