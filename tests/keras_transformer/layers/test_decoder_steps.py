"""A decoder that moves position by position over its cache says what it says of a whole target at once."""

import keras
import numpy as np
import pytest
from keras import ops

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
    numbers,
    start,
    step,
    tensorflow_only,
)


@pytest.fixture(scope="module")
def targets():
    return normal(BATCH, LENGTH, WIDTH, seed=1)


@pytest.fixture(scope="module", params=["memory", "alone"])
def memory(request):
    return normal(BATCH, SOURCE, 6, seed=2) if request.param == "memory" else None


@pytest.fixture(scope="module", params=["pre", "post"])
def decoder(request, memory):
    return make(norm_first=request.param == "pre", with_memory=memory is not None)


@pytest.fixture(scope="module")
def full(decoder, targets, memory):
    """The outputs (B, T, D) and each list of scores of the whole targets at once."""
    masks = {} if memory is None else {"memory_mask": REAL}
    output, *scores = decoder(targets, memory, return_attention_scores=True, **masks)
    return ops.convert_to_numpy(output), [numbers(kind) for kind in scores]


TOGETHER = [[position] * BATCH for position in range(LENGTH)]
# rows 1 and 2 wait at position 0 till they are admitted; row 0 is done first and starts over on what it left
STAGGERED = [
    [0, 0, 0],
    [1, 0, 0],
    [2, 1, 0],
    [3, 2, 0],
    [0, 3, 1],
    [1, 0, 2],
    [2, 1, 3],
    [3, 2, 0],
    [0, 3, 1],
]


def test_all_rows_together(full, decoder, targets, memory):
    assert_each_step_is_its_row_of(full, decoder, targets, start(decoder, memory), TOGETHER)


def test_each_row_at_its_own_position_and_again_on_a_used_cache(full, decoder, targets, memory):
    assert_each_step_is_its_row_of(full, decoder, targets, start(decoder, memory), STAGGERED)


def test_a_longer_cache_changes_nothing(full, decoder, targets, memory):
    cache = start(decoder, memory, length=LENGTH + 3)

    assert_each_step_is_its_row_of(full, decoder, targets, cache, STAGGERED[:4])


@pytest.mark.parametrize("leftover", [1e9, np.nan])
def test_what_a_cache_holds_past_a_position_is_never_looked_at(full, decoder, targets, memory, leftover):
    cache = filled(start(decoder, memory), leftover)

    assert_each_step_is_its_row_of(full, decoder, targets, cache, STAGGERED)


def test_a_step_writes_its_own_position_and_no_other(decoder, targets, memory):
    before = filled(start(decoder, memory), 7.0)
    positions = np.array([2, 0, 3])

    _, after = step(decoder, targets[:, 0], positions, before)

    for old, new in zip(before.blocks, after.blocks, strict=True):
        for part in ("key", "value"):
            changed = ops.convert_to_numpy(getattr(new, part)) != ops.convert_to_numpy(getattr(old, part))
            expected = np.arange(LENGTH) == positions[:, None]
            np.testing.assert_array_equal(changed.any(axis=(1, 3)), expected)
        assert new.memory_key is old.memory_key
        assert new.memory_value is old.memory_value


def test_a_row_does_not_notice_the_rows_beside_it(full, decoder, targets, memory):
    cache, rows = start(decoder, memory), np.arange(BATCH)
    others = normal(BATCH, LENGTH, WIDTH, seed=9)
    others[1] = targets[1]
    for position in range(LENGTH):
        positions = np.array([0, position, LENGTH - 1 - position])
        output, cache = step(decoder, others[rows, positions], positions, cache)

        found = ops.convert_to_numpy(output)[1, 0]
        np.testing.assert_allclose(found, full[0][1, position], rtol=0, atol=1e-5)


def test_the_keys_and_values_of_the_memory_are_computed_once():
    decoder, memory = make(), normal(BATCH, SOURCE, 6, seed=2)

    cache = decoder.start(BATCH, LENGTH, memory)

    for block, cached in zip(decoder.blocks, cache.blocks, strict=True):
        key, value = block.cross_attention.keys_and_values(ops.convert_to_tensor(memory))
        np.testing.assert_allclose(ops.convert_to_numpy(cached.memory_key), ops.convert_to_numpy(key))
        np.testing.assert_allclose(ops.convert_to_numpy(cached.memory_value), ops.convert_to_numpy(value))
        assert tuple(cached.key.shape) == (BATCH, 2, LENGTH, WIDTH // 2)


@pytest.mark.parametrize("length", [1, 2])
def test_the_shortest_cache_and_a_memory_of_one_token_will_do(length):
    decoder, x, memory = make(), normal(2, length, WIDTH), normal(2, 1, 6)
    full, cache = ops.convert_to_numpy(decoder(x, memory)), decoder.start(2, length, memory)

    for position in range(length):
        output, cache = step(decoder, x[:, position], np.array([position] * 2), cache)
        np.testing.assert_allclose(ops.convert_to_numpy(output)[:, 0], full[:, position], rtol=0, atol=1e-5)


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("given", ["half", "float32"])
def test_steps_in_mixed_precision_are_what_the_full_pass_is_there(dtype, given, targets):
    decoder, memory = make(dtype=dtype), normal(BATCH, SOURCE, 6, seed=2)
    full = ops.convert_to_numpy(ops.cast(decoder(targets, memory, memory_mask=REAL), "float32"))
    x = ops.cast(targets, decoder.compute_dtype if given == "half" else "float32")
    cache = start(decoder, memory)

    for position in range(LENGTH):
        output, cache = decoder.step(
            x[:, position : position + 1], ops.convert_to_tensor([position] * BATCH), cache
        )
        assert keras.backend.standardize_dtype(output.dtype) == decoder.compute_dtype
        assert keras.backend.standardize_dtype(cache.blocks[0].key.dtype) == decoder.compute_dtype
        found = ops.convert_to_numpy(ops.cast(output, "float32"))[:, 0]
        # a normalised output is of order one: a few units in the last of bfloat16's 8 bits
        np.testing.assert_allclose(found, full[:, position], rtol=0, atol=0.06)


def test_a_step_without_its_time_dimension_is_refused(targets):
    decoder = make(with_memory=False)

    with pytest.raises(ValueError, match=r"\(batch, 1, width\).*got \(3, 8\)"):
        decoder.step(
            ops.convert_to_tensor(targets[:, 0]), ops.convert_to_tensor([0] * BATCH), decoder.start(BATCH, 2)
        )


@tensorflow_only
@pytest.mark.parametrize("compiled", [False, True], ids=["graph", "xla"])
def test_one_compiled_step_serves_every_position(targets, compiled):
    import tensorflow as tf

    decoder, memory = make(), normal(BATCH, SOURCE, 6, seed=2)
    expected = ops.convert_to_numpy(decoder(targets, memory, memory_mask=REAL))
    traced = []

    @tf.function(jit_compile=compiled)
    def run(vectors, positions, cache):
        traced.append(positions)
        return decoder.step(vectors, positions, cache)

    cache, rows = start(decoder, memory), np.arange(BATCH)
    for positions in np.array(STAGGERED):
        output, cache = run(tf.constant(targets[rows, positions][:, None]), tf.constant(positions), cache)
        np.testing.assert_allclose(output[:, 0], expected[rows, positions], rtol=0, atol=1e-5)
    assert len(traced) == 1


@tensorflow_only
def test_a_cache_can_be_started_with_a_batch_and_a_length_only_known_at_run_time():
    import tensorflow as tf

    decoder = make()

    @tf.function(
        input_signature=[
            tf.TensorSpec((None, None, WIDTH)),
            tf.TensorSpec((None, None, 6)),
            tf.TensorSpec((None, None), tf.bool),
        ]
    )
    def last(targets, memory, real):
        batch, length = tf.shape(targets)[0], tf.shape(targets)[1]
        cache = decoder.start(batch, length, memory, real)
        output = targets[:, :1]
        for position in range(2):
            output, cache = decoder.step(
                targets[:, position : position + 1], tf.fill([batch], position), cache
            )
        return output

    for batch in (1, 2):
        x, memory = normal(batch, 2, WIDTH), normal(batch, SOURCE, 6)
        expected = ops.convert_to_numpy(decoder(x, memory, memory_mask=REAL[:batch]))[:, 1:]
        found = last(x, memory, REAL[:batch])
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
