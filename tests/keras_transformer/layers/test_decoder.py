import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import TransformerDecoder, TransformerDecoderBlock

SMALL = {"num_heads": 1, "inner_width": 2}


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def decoder(**settings):
    return TransformerDecoder(**{"num_layers": 1, "num_heads": 2, "inner_width": 8, **settings})


def numbers(tensor):
    return ops.convert_to_numpy(tensor)


# values and outputs are the vector itself, and all scores are equal
ATTEND = {
    "query_key_value/kernel": np.hstack([np.zeros((2, 4)), np.eye(2)]),
    "self_attention/output/kernel": np.eye(2),
}
LOOK_UP = {
    "key_value/kernel": np.hstack([np.zeros((2, 2)), np.eye(2)]),
    "cross_attention/output/kernel": np.eye(2),
}


def test_a_position_takes_the_mean_of_what_came_so_far(assign):
    block = TransformerDecoderBlock(**SMALL)
    block.build((None, None, 2))
    assign(block, ATTEND)

    # normalised: [1, -1], [-1, 1], [1, -1]; running means [1, -1], [0, 0], [1/3, -1/3]
    output = numbers(block(np.array([[[3, 1], [1, 3], [3, 1]]], "float32")))
    np.testing.assert_allclose(output, [[[4, 0], [1, 3], [3 + 1 / 3, 1 - 1 / 3]]], atol=2e-5)


def test_without_causality_a_position_takes_the_mean_of_all(assign):
    block = TransformerDecoderBlock(causal=False, **SMALL)
    block.build((None, None, 2))
    assign(block, ATTEND)

    # the mean of [1, -1], [-1, 1], [1, -1] is [1/3, -1/3] for every position
    output = numbers(block(np.array([[[3, 1], [1, 3], [3, 1]]], "float32")))
    third = 1 / 3
    expected = [[[3 + third, 1 - third], [1 + third, 3 - third], [3 + third, 1 - third]]]
    np.testing.assert_allclose(output, expected, atol=2e-5)


def test_a_pre_norm_block_looks_up_the_memory_as_it_is(assign):
    block = TransformerDecoderBlock(**SMALL)
    block.build((None, None, 2), (None, None, 2))
    assign(block, LOOK_UP)

    # the mean of the memory [4, 6] and [0, 2] is [2, 4]; it is added, and the memory is not normalised
    output = numbers(block(np.array([[[3, 1]]], "float32"), np.array([[[4, 6], [0, 2]]], "float32")))
    np.testing.assert_allclose(output, [[[5, 5]]], atol=1e-6)


def test_a_post_norm_block_normalises_after_each_of_its_three_sublayers(assign):
    block = TransformerDecoderBlock(norm_first=False, **SMALL)
    block.build((None, None, 2), (None, None, 2))
    assign(block, {**ATTEND, **LOOK_UP})

    def normalised(v):
        return (v - v.mean()) / np.sqrt(v.var() + 1e-5)

    # [3, 1] + [3, 1] = [6, 2] -> [1, -1]; + memory [0, 4] = [1, 3] -> [-1, 1]; + 0 -> [-1, 1]
    once = normalised(np.array([6.0, 2.0]))
    expected = normalised(normalised(once + np.array([0, 4])))
    output = numbers(block(np.array([[[3, 1]]], "float32"), np.array([[[0, 4]]], "float32")))
    np.testing.assert_allclose(output, [[expected]], atol=1e-6)


@pytest.mark.parametrize("norm_first", [True, False])
def test_every_normalisation_adds_one_hundred_thousandth_to_the_variance(norm_first):
    stack = decoder(norm_first=norm_first)
    stack(normal(1, 2, 4), normal(1, 3, 4))
    norms = [layer for layer in stack._flatten_layers() if isinstance(layer, keras.layers.LayerNormalization)]
    a = 1e-5**0.5

    assert len(norms) == 4 if norm_first else 3
    for norm in norms:
        # variance a² = 1e-5: a / √(1e-5 + 1e-5) = 1/√2
        found = numbers(norm(np.array([[[a, -a, a, -a]]], "float32")))[0, 0, 0]
        np.testing.assert_allclose(found, 0.5**0.5, atol=1e-5)


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("with_memory", [True, False])
def test_a_stack_is_its_blocks_one_after_the_other(norm_first, with_memory):
    stack = decoder(num_layers=2, norm_first=norm_first)
    x, memory = normal(2, 3, 4), normal(2, 5, 6) if with_memory else None
    output, *scores = stack(x, memory, return_attention_scores=True)

    expected, each = x, []
    for block in stack.blocks:
        expected, *weights = block(expected, memory, return_attention_scores=True)
        each.append(weights)
    assert len(scores) == (2 if with_memory else 1)  # nothing in place of what there is not
    for found, wanted in zip(scores, zip(*each, strict=True), strict=True):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(numbers(one), numbers(other), atol=1e-6)
    expected = stack.norm(expected) if norm_first else expected

    np.testing.assert_allclose(numbers(output), numbers(expected), atol=1e-6)


def test_scores_are_causal_over_the_target_and_free_over_the_memory():
    _, scores, memory_scores = decoder()(normal(2, 3, 4), normal(2, 5, 4), return_attention_scores=True)

    np.testing.assert_array_equal(numbers(scores[0]) > 0, np.broadcast_to(np.tri(3) > 0, (2, 2, 3, 3)))
    assert (numbers(memory_scores[0]) > 0).all()
    np.testing.assert_allclose(numbers(memory_scores[0]).sum(-1), 1, rtol=1e-5)


@pytest.mark.parametrize("with_heads", [False, True])
def test_an_attention_mask_takes_away_from_what_causality_allows(with_heads):
    allowed = np.random.default_rng(1).random((2, 2, 3, 3) if with_heads else (2, 3, 3)) < 0.6

    _, scores = decoder()(normal(2, 3, 4), attention_mask=allowed, return_attention_scores=True)

    expected = np.broadcast_to(allowed if with_heads else allowed[:, None], (2, 2, 3, 3)) & (np.tri(3) > 0)
    np.testing.assert_array_equal(numbers(scores[0]) > 0, expected)


@pytest.mark.parametrize("with_heads", [False, True])
def test_a_memory_attention_mask_combines_with_the_padding_of_the_memory(with_heads):
    allowed = np.random.default_rng(1).random((2, 2, 3, 5) if with_heads else (2, 3, 5)) < 0.6
    real = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], "bool")

    _, _, scores = decoder()(
        normal(2, 3, 4),
        normal(2, 5, 4),
        memory_attention_mask=allowed,
        memory_mask=real,
        return_attention_scores=True,
    )

    expected = (
        np.broadcast_to(allowed if with_heads else allowed[:, None], (2, 2, 3, 5)) & real[:, None, None]
    )
    np.testing.assert_array_equal(numbers(scores[0]) > 0, expected)


@pytest.mark.parametrize("with_memory", [True, False])
def test_a_decoder_keeps_the_memory_or_keeps_without(with_memory):
    stack, x, memory = decoder(), normal(2, 3, 4), normal(2, 5, 4)
    stack(x, memory) if with_memory else stack(x)
    built, called = ("with", "without") if with_memory else ("without", "with")

    with pytest.raises(
        ValueError, match=f"was built {built} a memory and is called {called} one.*every call"
    ):
        stack(x) if with_memory else stack(x, memory)
    with pytest.raises(
        ValueError, match=f"was built {built} a memory and is called {called} one.*every call"
    ):
        stack.start(2, 3, None if with_memory else memory)


def test_a_decoder_that_was_never_called_says_so_when_it_is_to_start():
    with pytest.raises(ValueError, match=r"no weights yet\. Call, load or build it"):
        decoder().start(2, 3)
    with pytest.raises(ValueError, match=r"no weights yet\. Call, load or build it"):
        decoder().start(2, 3, normal(2, 5, 4))


@pytest.mark.parametrize("kind", [TransformerDecoder, TransformerDecoderBlock])
def test_a_number_by_position_is_never_taken_for_causality(kind):
    with pytest.raises(TypeError, match="positional"):
        kind(*([6, 8] if kind is TransformerDecoder else [8]))


@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (2, 4, 4), (3, 3, 3), (2, 3, 3, 3)], ids=str)
def test_an_attention_mask_of_another_shape_is_refused_with_the_right_one(shape):
    shown = ", ".join(map(str, shape))

    with pytest.raises(ValueError, match=rf"= \(2, 3, 3\), each dimension its size or 1.*got \({shown}\)\."):
        decoder()(np.zeros((2, 3, 4)), attention_mask=np.ones(shape, "bool"))


def test_a_mask_of_the_batch_and_the_length_is_refused_even_where_they_are_the_same_number():
    with pytest.raises(ValueError, match=r"got \(3, 3\)\. A \(batch, source\) mask .* mask\[:, None, :\]"):
        decoder()(np.zeros((3, 3, 4)), attention_mask=np.ones((3, 3), "bool"))


def test_a_memory_attention_mask_of_another_shape_is_refused_with_the_right_one():
    with pytest.raises(ValueError, match=r"= \(2, 3, 5\), each dimension its size or 1.*got \(2, 3, 3\)"):
        decoder()(np.zeros((2, 3, 4)), np.zeros((2, 5, 4)), memory_attention_mask=np.ones((2, 3, 3), "bool"))


@pytest.mark.parametrize("shape", [(2, 3), (3, 5), (2, 1, 5)], ids=str)
def test_a_memory_mask_of_another_shape_is_refused_with_the_right_one(shape):
    with pytest.raises(ValueError, match=rf"\(2, 5\).*got \({', '.join(map(str, shape))}\)"):
        decoder()(np.zeros((2, 3, 4)), np.zeros((2, 5, 4)), memory_mask=np.ones(shape, "bool"))


def test_a_memory_of_another_rank_is_refused_by_its_name():
    with pytest.raises(ValueError, match=r"memory must have shape \(batch, time, width\).*got \(5, 4\)"):
        decoder()(np.zeros((2, 3, 4)), np.zeros((5, 4)))


def test_heads_that_do_not_divide_the_width_are_refused_with_some_that_do():
    with pytest.raises(ValueError, match=r"divisible by num_heads; got 12 and 8\. Try num_heads=6"):
        decoder(num_heads=8)(np.zeros((1, 2, 12)), np.zeros((1, 2, 5)))
