import math

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import MultiHeadAttention, MultiHeadSelfAttention, scaled_dot_product_attention

LN2, LN3 = math.log(2), math.log(3)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def numbers(tensors):
    return [ops.convert_to_numpy(tensor) for tensor in tensors]


class TestScaledDotProductAttention:
    def test_weights_are_the_softmax_of_the_scores_and_the_output_their_mean_of_the_values(self):
        # scores [0, ln 3] -> weights [1/4, 3/4] -> 4/4 + 8*3/4 = 7
        output, weights = numbers(
            scaled_dot_product_attention(
                np.array([[LN3]], "float32"), np.array([[0], [1]], "float32"), np.array([[4], [8]], "float32")
            )
        )

        np.testing.assert_allclose(weights, [[1 / 4, 3 / 4]], rtol=1e-6)
        np.testing.assert_allclose(output, [[7]], rtol=1e-6)

    def test_scores_are_divided_by_the_root_of_the_width(self):
        # width 4: 2 ln 3 / √4 = ln 3 -> weights [1/4, 3/4]
        query, key = np.zeros((1, 4), "float32"), np.zeros((2, 4), "float32")
        query[0, 0], key[1, 0] = 2 * LN3, 1

        _, weights = numbers(scaled_dot_product_attention(query, key, np.zeros((2, 1), "float32")))

        np.testing.assert_allclose(weights, [[1 / 4, 3 / 4]], rtol=1e-6)

    def test_a_query_that_may_not_attend_to_a_key_gives_it_no_weight(self):
        # without the third key the scores are [0, ln 3] again, whatever the third one is
        output, weights = numbers(
            scaled_dot_product_attention(
                np.array([[LN3]], "float32"),
                np.array([[0], [1], [9]], "float32"),
                np.array([[4], [8], [1000]], "float32"),
                mask=np.array([[True, True, False]]),
            )
        )

        np.testing.assert_allclose(weights, [[1 / 4, 3 / 4, 0]], rtol=1e-6)
        np.testing.assert_allclose(output, [[7]], rtol=1e-6)

    def test_a_query_that_may_attend_to_nothing_gets_zeros(self):
        output, weights = numbers(
            scaled_dot_product_attention(
                normal(2, 4), normal(3, 4), normal(3, 5), mask=np.array([[False] * 3, [True] * 3])
            )
        )

        np.testing.assert_array_equal(weights[0], np.zeros(3))
        np.testing.assert_array_equal(output[0], np.zeros(5))
        np.testing.assert_allclose(weights[1].sum(), 1, rtol=1e-6)

    def test_a_mask_of_zeros_and_ones_is_a_mask(self):
        arguments = normal(2, 4), normal(3, 4), normal(3, 5)
        allowed = np.array([[1, 0, 1], [0, 1, 1]])

        of_numbers = numbers(scaled_dot_product_attention(*arguments, mask=allowed))
        of_truth = numbers(scaled_dot_product_attention(*arguments, mask=allowed.astype("bool")))

        np.testing.assert_array_equal(of_numbers[0], of_truth[0])
        np.testing.assert_array_equal(of_numbers[1][allowed == 0], 0)

    def test_leading_dimensions_are_a_batch_of_any_rank(self):
        query, key, value = normal(2, 3, 4, 8), normal(2, 3, 5, 8, seed=1), normal(2, 3, 5, 6, seed=2)
        output, weights = numbers(scaled_dot_product_attention(query, key, value))

        assert (output.shape, weights.shape) == ((2, 3, 4, 6), (2, 3, 4, 5))
        alone, _ = numbers(scaled_dot_product_attention(query[1, 2], key[1, 2], value[1, 2]))
        np.testing.assert_allclose(output[1, 2], alone, atol=1e-6)

    def test_integers_are_worked_on_as_numbers_not_rounded_to_nothing(self):
        # query 1, keys 0 and 1 -> weights [1, e] / (1 + e)
        _, weights = numbers(
            scaled_dot_product_attention(np.array([[1]]), np.array([[0], [1]]), np.array([[4], [8]]))
        )

        np.testing.assert_allclose(weights, [[1 / (1 + math.e), math.e / (1 + math.e)]], rtol=1e-5)

    def test_it_takes_symbolic_tensors_too(self):
        query, key, value = (keras.Input(shape) for shape in ((3, 4), (5, 4), (5, 6)))
        output, weights = scaled_dot_product_attention(query, key, value)

        assert (output.shape, weights.shape) == ((None, 3, 6), (None, 3, 5))

    @pytest.mark.parametrize("masked", [False, True])
    def test_a_single_key_gets_all_the_weight(self, masked):
        mask = np.array([[True], [False]]) if masked else None
        output, weights = numbers(
            scaled_dot_product_attention(normal(2, 4), normal(1, 4), np.array([[7.0]], "float32"), mask)
        )

        np.testing.assert_array_equal(weights, [[1], [0 if masked else 1]])
        np.testing.assert_array_equal(output, [[7], [0 if masked else 7]])

    @pytest.mark.parametrize(("dtype", "bits"), [("float16", 11), ("bfloat16", 8)])
    def test_the_softmax_is_taken_in_float32_and_rounded_once(self, dtype, bits):
        # width 1 and query 1: the scores are the keys
        key = ops.cast(normal(60, 1), dtype)
        _, weights = scaled_dot_product_attention(ops.ones((1, 1), dtype), key, key)

        assert keras.backend.standardize_dtype(weights.dtype) == dtype
        exact = np.exp(ops.convert_to_numpy(ops.cast(key, "float32")).astype("float64")[:, 0])
        exact /= exact.sum()
        found = ops.convert_to_numpy(ops.cast(weights, "float32"))[0]
        np.testing.assert_allclose(found, exact, rtol=1.001 * 2.0**-bits)  # half a unit in the last place


class TestMultiHeadSelfAttention:
    IDENTITIES = {  # noqa: RUF012 - read only
        "query_key_value/kernel": np.tile(np.eye(2), 3),
        "output/kernel": np.eye(2),
    }
    # each head sees one coordinate: query, key and value are the coordinate itself
    X = np.array([[[1, 1], [1 + LN3, 1 + LN2]]], "float32")

    def test_each_head_attends_over_its_own_coordinates(self, assign):
        layer = MultiHeadSelfAttention(num_heads=2)
        layer.build((None, None, 2))
        assign(layer, self.IDENTITIES)

        output, scores = numbers(layer(self.X, return_attention_scores=True))

        # first position: head 0 has scores 1 * [1, 1 + ln 3] -> [1/4, 3/4] -> 1 + 3/4 ln 3
        #                 head 1 has scores 1 * [1, 1 + ln 2] -> [1/3, 2/3] -> 1 + 2/3 ln 2
        np.testing.assert_allclose(scores[0, :, 0], [[1 / 4, 3 / 4], [1 / 3, 2 / 3]], rtol=1e-5)
        np.testing.assert_allclose(output[0, 0], [1 + 0.75 * LN3, 1 + 2 / 3 * LN2], rtol=1e-5)

    def test_biases_and_the_output_projection_take_part(self, assign):
        layer = MultiHeadSelfAttention(num_heads=1)
        layer.build((None, None, 1))
        # query 2, key 0, value x + 3, output 10 v + 7; equal scores, so the weights are halves
        assign(
            layer,
            {
                "query_key_value/kernel": [[0, 0, 1]],
                "query_key_value/bias": [2, 0, 3],
                "output/kernel": [[10]],
                "output/bias": [7],
            },
        )

        # values 1 + 3 and 5 + 3 -> mean 6 -> 67
        found = ops.convert_to_numpy(layer(np.array([[[1], [5]]], "float32")))
        np.testing.assert_allclose(found, [[[67], [67]]], rtol=1e-6)

    def test_a_width_of_a_head_above_one_scales_by_its_own_root(self, assign):
        layer = MultiHeadSelfAttention(num_heads=1)
        layer.build((None, None, 4))
        assign(layer, {"query_key_value/kernel": np.tile(np.eye(4), 3), "output/kernel": np.eye(4)})
        x = np.zeros((1, 2, 4), "float32")
        x[0, 0, 0], x[0, 1, 0] = 1, 1 + 2 * LN3  # scores of the first: 1/2 and 1/2 + ln 3

        _, scores = numbers(layer(x, return_attention_scores=True))

        np.testing.assert_allclose(scores[0, 0, 0], [1 / 4, 3 / 4], rtol=1e-5)

    def test_a_mask_with_a_heads_dimension_is_for_each_head_its_own(self, assign):
        layer = MultiHeadSelfAttention(num_heads=2)
        layer.build((None, None, 2))
        assign(layer, self.IDENTITIES)
        only_self, all_allowed = np.eye(2, dtype="bool"), np.ones((2, 2), "bool")

        _, scores = numbers(
            layer(
                self.X,
                attention_mask=np.stack([only_self, all_allowed])[None],
                return_attention_scores=True,
            )
        )

        np.testing.assert_allclose(scores[0, 0], np.eye(2))
        np.testing.assert_allclose(scores[0, 1, 0], [1 / 3, 2 / 3], rtol=1e-5)

    @pytest.mark.parametrize(
        "shape", [(1, 3, 3), (2, 1, 3), (2, 3, 1), (1, 1, 3), (2, 1, 3, 3), (1, 2, 1, 3)]
    )
    def test_a_mask_of_one_stands_for_every_row_query_or_head(self, shape):
        layer = MultiHeadSelfAttention(num_heads=2)
        x, mask = normal(2, 3, 4), np.random.default_rng(4).random(shape) < 0.7
        full = np.broadcast_to(mask if len(shape) == 4 else mask[:, None], (2, 2, 3, 3))

        found, expected = numbers([layer(x, attention_mask=mask), layer(x, attention_mask=full)])

        np.testing.assert_allclose(found, expected, atol=1e-6)

    def test_a_position_that_may_attend_to_nothing_gives_the_output_bias(self, assign):
        layer = MultiHeadSelfAttention(num_heads=2)
        layer.build((None, None, 2))
        assign(layer, {**self.IDENTITIES, "output/bias": [3, 4]})

        output, scores = numbers(
            layer(self.X, attention_mask=np.zeros((1, 1, 2), "bool"), return_attention_scores=True)
        )

        np.testing.assert_array_equal(scores, np.zeros((1, 2, 2, 2)))
        np.testing.assert_array_equal(output, [[[3, 4], [3, 4]]])

    def test_a_width_that_the_heads_do_not_divide_is_refused_with_one_that_they_do(self):
        with pytest.raises(
            ValueError, match=r"width must be divisible by num_heads; got 130 and 8\. Try num_heads=10"
        ):
            MultiHeadSelfAttention(num_heads=8)(np.zeros((1, 2, 130)))

    def test_no_heads_at_all_are_refused(self):
        with pytest.raises(ValueError, match=r"num_heads must be at least 1; got 0"):
            MultiHeadSelfAttention(num_heads=0)

    @pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4, 4)])
    def test_an_input_of_another_rank_is_refused(self, shape):
        with pytest.raises(ValueError, match=rf"shape \(batch, time, width\).*got \({shape[0]}, {shape[1]}"):
            MultiHeadSelfAttention(num_heads=2)(np.zeros(shape))

    def test_an_unknown_width_is_refused(self):
        with pytest.raises(ValueError, match=r"with a known width; got \(None, 3, None\)"):
            MultiHeadSelfAttention(num_heads=2)(keras.Input((3, None)))

    def test_another_width_than_at_first_is_refused_with_both(self):
        layer = MultiHeadSelfAttention(num_heads=2)
        layer(np.zeros((2, 3, 4)))

        with pytest.raises(ValueError, match=r"4.*\(2, 3, 6\)"):
            layer(np.zeros((2, 3, 6)))

    @pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 4, 3), (3, 3, 3), (2, 3, 3, 3), (3,)])
    def test_an_attention_mask_of_another_shape_is_refused_with_the_right_one(self, shape):
        layer = MultiHeadSelfAttention(num_heads=2)
        shown = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")

        with pytest.raises(
            ValueError,
            match=rf"\(2, 3, 3\).* or the same with the 2 heads after the batch; got \({shown}\)\. "
            r"A \(batch, source\) mask of real tokens is passed as mask\[:, None, :\]",
        ):
            layer(np.zeros((2, 3, 4)), attention_mask=np.ones(shape, "bool"))

    def test_an_attention_mask_of_another_shape_is_refused_while_a_model_is_being_made(self):
        with pytest.raises(ValueError, match=r"got \(\w+, 5, 5\)"):
            MultiHeadSelfAttention(num_heads=2)(
                keras.Input((3, 4)), attention_mask=keras.Input((5, 5), dtype="bool")
            )

    @pytest.mark.parametrize("shape", [(2, 4), (2, 1, 3), (3, 3)])
    def test_a_padding_mask_of_another_shape_is_refused_with_the_right_one(self, shape):
        with pytest.raises(ValueError, match=rf"\(2, 3\).*got \({', '.join(map(str, shape))}\)"):
            MultiHeadSelfAttention(num_heads=2)(np.zeros((2, 3, 4)), mask=np.ones(shape, "bool"))


class TestMultiHeadAttention:
    def test_queries_look_up_values_of_another_width(self, assign):
        layer = MultiHeadAttention(num_heads=2)
        layer.build((None, None, 2), (None, None, 3))
        # keys are the first two coordinates of the memory, both values its third
        keys, values = [[1, 0], [0, 1], [0, 0]], [[0, 0], [0, 0], [1, 1]]
        assign(
            layer,
            {
                "query/kernel": np.eye(2),
                "key_value/kernel": np.hstack([keys, values]),
                "output/kernel": np.eye(2),
            },
        )

        output, scores = numbers(
            layer(
                np.array([[[LN3, LN2]]], "float32"),
                np.array([[[0, 0, 4], [1, 1, 8]]], "float32"),
                return_attention_scores=True,
            )
        )

        # head 0: scores [0, ln 3] -> [1/4, 3/4] -> 7; head 1: [0, ln 2] -> [1/3, 2/3] -> 4/3 + 16/3
        np.testing.assert_allclose(scores, [[[[1 / 4, 3 / 4]], [[1 / 3, 2 / 3]]]], rtol=1e-5)
        np.testing.assert_allclose(output, [[[7, 20 / 3]]], rtol=1e-5)

    def test_a_value_mask_hides_the_padding_of_the_value(self):
        layer = MultiHeadAttention(num_heads=2)
        query, value = normal(2, 3, 4), normal(2, 5, 6, seed=1)
        real = np.array([[1, 1, 0, 0, 0], [1, 1, 1, 1, 0]], "bool")

        output, scores = numbers(layer(query, value, value_mask=real, return_attention_scores=True))

        (shorter,) = numbers([layer(query[:1], value[:1, :2])])
        np.testing.assert_allclose(output[:1], shorter, atol=1e-6)
        np.testing.assert_array_equal(scores[0, :, :, 2:], 0)
        np.testing.assert_array_equal(scores[1, :, :, 4:], 0)

    def test_an_attention_mask_of_another_shape_is_refused_with_the_right_one(self):
        with pytest.raises(ValueError, match=r"= \(2, 3, 5\), each dimension its size or 1.*got \(2, 5, 3\)"):
            MultiHeadAttention(num_heads=2)(
                np.zeros((2, 3, 4)), np.zeros((2, 5, 4)), attention_mask=np.ones((2, 5, 3), "bool")
            )

    @pytest.mark.parametrize("shape", [(2, 3), (2, 1, 5)])
    def test_a_value_mask_of_another_shape_is_refused_with_the_right_one(self, shape):
        with pytest.raises(ValueError, match=rf"\(2, 5\).*got \({', '.join(map(str, shape))}\)"):
            MultiHeadAttention(num_heads=2)(
                np.zeros((2, 3, 4)), np.zeros((2, 5, 4)), value_mask=np.ones(shape, "bool")
            )

    def test_a_value_of_another_rank_is_refused_by_name(self):
        with pytest.raises(ValueError, match=r"value must have shape \(batch, time, width\).*got \(5, 4\)"):
            MultiHeadAttention(num_heads=2)(np.zeros((2, 3, 4)), np.zeros((5, 4)))

    def test_a_value_of_another_width_than_at_first_is_refused_with_both(self):
        layer = MultiHeadAttention(num_heads=2)
        layer(np.zeros((2, 3, 4)), np.zeros((2, 5, 6)))

        with pytest.raises(ValueError, match=r"have value 6.*\(2, 5, 4\)"):
            layer(np.zeros((2, 3, 4)), np.zeros((2, 5, 4)))

    @pytest.mark.skipif(
        keras.backend.backend() != "tensorflow",
        reason="Keras traces an unknown length as 83 on the other backends, which fits no known one",
    )
    @pytest.mark.parametrize("length", [None, 3])
    def test_a_mask_with_lengths_still_unknown_fits_any_lengths(self, length):
        mask = keras.Input((None, None), dtype="bool")

        output, scores = MultiHeadAttention(num_heads=2)(
            keras.Input((length, 4)), keras.Input((5, 4)), attention_mask=mask, return_attention_scores=True
        )

        assert (output.shape, scores.shape) == ((None, length, 4), (None, 2, length, 5))


@pytest.mark.parametrize(
    ("layer", "shapes"),
    [
        (MultiHeadSelfAttention(num_heads=2), [(None, None, 64)]),
        (MultiHeadAttention(num_heads=2), [(None, None, 64), (None, None, 64)]),
    ],
)
def test_fused_projections_start_with_the_spread_that_each_would_have_alone_and_no_bias(layer, shapes):
    keras.utils.set_random_seed(0)
    layer.build(*shapes)

    for weight in layer.weights:
        values = ops.convert_to_numpy(weight)
        if weight.name == "bias":
            np.testing.assert_array_equal(values, 0)
        else:
            # each of the fused projections as Glorot's for 64 -> 64 alone: variance 2 / (64 + 64)
            np.testing.assert_allclose(values.std(), (2 / 128) ** 0.5, rtol=0.05)
