"""A cache goes through loops and tree maps, takes prompts whole, and refuses what it has no room for."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import TransformerDecoder, TransformerDecoderBlock
from tests.support.decoder_steps import (
    BATCH,
    LENGTH,
    REAL,
    SOURCE,
    WIDTH,
    assert_each_step_is_its_row_of,
    filled,
    make,
    normal,
    start,
    step,
    tensorflow_only,
)

LENGTHS = np.array([4, 1, 2])


@pytest.fixture(scope="module", params=["memory", "alone"])
def memory(request):
    return normal(BATCH, SOURCE, 6, seed=2) if request.param == "memory" else None


@pytest.fixture(scope="module")
def decoder(memory):
    return make(with_memory=memory is not None)


@pytest.fixture(scope="module")
def targets():
    return normal(BATCH, LENGTH, WIDTH, seed=1)


@pytest.fixture(scope="module")
def full(decoder, targets, memory):
    masks = {} if memory is None else {"memory_mask": REAL}
    output, *scores = decoder(targets, memory, return_attention_scores=True, **masks)
    return ops.convert_to_numpy(output), [[ops.convert_to_numpy(one) for one in kind] for kind in scores]


def same(found, expected):
    np.testing.assert_allclose(ops.convert_to_numpy(found), expected, rtol=0, atol=1e-5)


def test_every_leaf_of_a_cache_is_a_tensor_whose_rows_can_be_taken(decoder, memory, targets, full):
    rows = np.array([2, 0, 0])
    cache = keras.tree.map_structure(lambda leaf: ops.take(leaf, rows, axis=0), start(decoder, memory))

    assert all(leaf is not None for leaf in keras.tree.flatten(cache))
    output, _ = step(decoder, targets[rows, 0], np.zeros(BATCH, "int32"), cache)
    same(output[:, 0], full[0][rows, 0])


def looped(while_loop, decoder, memory, targets):
    """The last output of all steps in a loop of the library's own."""
    targets = ops.convert_to_tensor(targets)

    def advance(position, output, cache):
        now = ops.take(targets, ops.reshape(position, (1,)), axis=1)
        output, cache = decoder.step(now, ops.broadcast_to(position, (BATCH,)), cache)
        return position + 1, output, cache

    first = ops.convert_to_tensor(0, "int32"), ops.zeros((BATCH, 1, WIDTH)), start(decoder, memory)
    return while_loop(lambda position, *_: position < LENGTH, advance, first)[1]


def test_a_cache_goes_through_a_loop_of_keras(decoder, memory, targets, full):
    same(looped(ops.while_loop, decoder, memory, targets)[:, 0], full[0][:, -1])


@tensorflow_only
@pytest.mark.parametrize("compiled", [False, True], ids=["graph", "xla"])
def test_a_cache_goes_through_a_loop_of_tensorflow(decoder, memory, targets, full, compiled):
    import tensorflow as tf

    run = tf.function(lambda: looped(tf.while_loop, decoder, memory, targets), jit_compile=compiled)

    same(run()[:, 0], full[0][:, -1])


def test_several_positions_in_a_step_are_refused_with_what_takes_them(decoder, memory, targets):
    with pytest.raises(ValueError, match=r"\(batch, 1, width\); got \(3, 4, 8\).*prefill"):
        decoder.step(ops.convert_to_tensor(targets), ops.zeros((BATCH,), "int32"), start(decoder, memory))


@pytest.mark.parametrize("position", [[0, 4, 1], [0, -1, 1], 4])
def test_a_step_past_the_cache_is_refused_where_that_is_known(decoder, memory, targets, position):
    with pytest.raises(ValueError, match=r"position must be whole numbers from 0 to 3; got (4|-1)\."):
        step(decoder, targets[:, 0], np.array(position), start(decoder, memory))


@pytest.mark.parametrize(("size", "position"), [(3, 0), (5, [0, 2, 0])])
def test_a_prompt_past_the_cache_is_refused_where_that_is_known(decoder, memory, targets, size, position):
    with pytest.raises(ValueError, match=rf"position \+ lengths .* from 0 to {size}; got {size + 1}\."):
        decoder.prefill(targets, start(decoder, memory, length=size), position=position)


@pytest.mark.parametrize("kind", [TransformerDecoder, TransformerDecoderBlock])
def test_a_decoder_that_looks_ahead_has_no_cache_to_step_over(kind):
    layers = {"num_layers": 1} if kind is TransformerDecoder else {}
    decoder = kind(**layers, num_heads=2, inner_width=12, causal=False)
    decoder.build((None, None, WIDTH))

    with pytest.raises(ValueError, match=r"causal=False .* whole sequence, or create it with causal=True"):
        decoder.start(BATCH, LENGTH, None)


def test_a_memory_of_another_batch_is_refused():
    with pytest.raises(ValueError, match="a row for each of 2; got 3 rows"):
        make().start(2, LENGTH, normal(3, SOURCE, 6))


def test_a_prompt_in_one_pass_gives_what_the_full_pass_gives(decoder, memory, targets, full):
    cache = start(decoder, memory, length=LENGTH + 2)

    output, _, *scores = decoder.prefill(targets, cache, return_attention_scores=True)

    same(output, full[0])
    for found, expected in zip(scores, full[1], strict=True):
        for one, whole in zip(found, expected, strict=True):
            same(one[..., : whole.shape[-1]], whole)
            np.testing.assert_array_equal(ops.convert_to_numpy(one)[..., whole.shape[-1] :], 0)


@pytest.mark.parametrize("leftover", [0.0, 1e9, np.nan])
def test_rows_go_on_after_prompts_of_different_length(decoder, memory, targets, full, leftover):
    cache = filled(start(decoder, memory), leftover)
    padded = np.where(np.arange(LENGTH)[:, None] < LENGTHS[:, None, None], targets, 1e3).astype("float32")

    output, cache = decoder.prefill(padded, cache, lengths=LENGTHS)

    for row, length in enumerate(LENGTHS):
        same(output[row, :length], full[0][row, :length])
    schedule = [np.minimum(LENGTHS + ahead, LENGTH - 1) for ahead in range(LENGTH)]
    assert_each_step_is_its_row_of(full, decoder, targets, cache, schedule)


def test_padding_of_a_prompt_is_not_written(decoder, memory, targets):
    _, cache = decoder.prefill(targets, filled(start(decoder, memory), 7.0), lengths=LENGTHS)

    for block in cache.blocks:
        untouched = np.all(ops.convert_to_numpy(block.key) == 7.0, axis=(1, 3))
        np.testing.assert_array_equal(untouched, np.arange(LENGTH) >= LENGTHS[:, None])


def test_a_prompt_is_taken_in_pieces_each_row_where_it_stands(decoder, memory, targets, full):
    rows, first = np.arange(BATCH)[:, None], np.array([1, 2, 1])
    _, cache = decoder.prefill(targets[:, :2], start(decoder, memory), lengths=first)

    piece = np.minimum(first[:, None] + np.arange(3), LENGTH - 1)
    output, _ = decoder.prefill(targets[rows, piece], cache, lengths=LENGTH - first, position=first)

    for row, begin in enumerate(first):
        same(output[row, : LENGTH - begin], full[0][row, begin:])


@tensorflow_only
def test_a_prompt_of_a_batch_and_length_only_known_at_run_time(targets):
    import tensorflow as tf

    decoder = make(with_memory=False)
    expected = ops.convert_to_numpy(decoder(targets))

    @tf.function(input_signature=[tf.TensorSpec((None, None, WIDTH)), tf.TensorSpec((None,), tf.int64)])
    def last(prompts, lengths):
        cache = decoder.start(tf.shape(prompts)[0], tf.shape(prompts)[1], None)
        return decoder.prefill(prompts, cache, lengths)[0]

    for batch, length in ((3, 4), (2, 2), (1, 1)):
        found = last(targets[:batch, :length], np.full(batch, length))
        same(found, expected[:batch, :length])


@pytest.mark.parametrize("dtype", ["mixed_bfloat16"])
def test_a_prefill_in_mixed_precision_is_what_the_full_pass_is_there(dtype, targets):
    decoder = TransformerDecoder(num_layers=2, num_heads=2, inner_width=12, dtype=dtype)
    expected = decoder(targets)

    output, _ = decoder.prefill(targets, decoder.start(BATCH, LENGTH))

    assert output.dtype == expected.dtype
    difference = ops.convert_to_numpy(ops.cast(output - expected, "float32"))
    np.testing.assert_allclose(difference, 0, atol=0.06)  # a few units of bfloat16's 8 bits
