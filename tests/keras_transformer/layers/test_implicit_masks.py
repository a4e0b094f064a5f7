"""A mask that comes with the input is kept to and handed on, and combines with one given in the call."""

from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

import keras_transformer as kt
from tests.support.layer_cases import (
    BATCH,
    CASES,
    IDS,
    LENGTH,
    MEMORY,
    MEMORY_REAL,
    REAL,
    STACK,
    VOCABULARY,
    WIDTH,
    X,
    allowed_by,
    as_tensors,
    every,
    flat,
    number,
    same,
)

every_attending = pytest.mark.parametrize(
    "case", [pytest.param(case, id=name) for name, case in CASES.items() if case.attends]
)
takes_a_sequence = pytest.mark.parametrize(
    "case", [pytest.param(case, id=name) for name, case in CASES.items() if case.takes != ("ids",)]
)


class Reveal(keras.layers.Layer):
    """The implicit mask of the input, as zeros and ones; two where there is none."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs, mask=None):
        return 2 + 0 * inputs[..., 0] if mask is None else ops.cast(mask, "float32")


def zeroed(array, real):
    return array * real[..., None]


def masked_arrays(case):
    """The inputs, every vector of padding zero, and the mask of each."""
    return [
        {"x": zeroed(X, REAL), "memory": zeroed(MEMORY, MEMORY_REAL), "ids": IDS}[name] for name in case.takes
    ]


def implicitly_masked(case, inputs):
    """The inputs with implicit masks, made the way a user makes them."""
    if case.takes == ("ids",):
        return inputs
    return [keras.layers.Masking()(tensor) for tensor in inputs]


@every
@pytest.mark.parametrize("way", ["eager", "symbolic"])
def test_an_implicit_mask_comes_out_at_the_end(case, way):
    layer, arrays = case.make(), masked_arrays(case)
    if way == "eager":
        found = Reveal()(layer(*implicitly_masked(case, as_tensors(arrays))))
    else:
        inputs = case.inputs()
        model = keras.Model(inputs, Reveal()(layer(*implicitly_masked(case, inputs))))
        found = model(arrays)

    np.testing.assert_array_equal(number(found), REAL)


@takes_a_sequence
def test_without_an_implicit_mask_none_comes_out(case):
    np.testing.assert_array_equal(number(Reveal()(case.make()(*case.arrays))), np.full((BATCH, LENGTH), 2))


@every_attending
def test_with_scores_only_the_output_carries_the_mask(case):
    output, *_ = case.make()(
        *implicitly_masked(case, as_tensors(masked_arrays(case))), return_attention_scores=True
    )

    np.testing.assert_array_equal(number(Reveal()(output)), REAL)


@every_attending
def test_an_implicit_mask_hides_the_padding_from_what_is_real(case):
    layer = case.make()
    whole = layer(*implicitly_masked(case, as_tensors(masked_arrays(case))))

    for row in range(BATCH):
        lengths = {"x": REAL[row].sum(), "memory": MEMORY_REAL[row].sum()}
        alone = [
            array[row : row + 1, : lengths[name]]
            for name, array in zip(case.takes, masked_arrays(case), strict=True)
        ]
        same(whole[row : row + 1, : lengths["x"]], layer(*as_tensors(alone)))


def padding_of_the_keys(case):
    return MEMORY_REAL if case.make.func is kt.MultiHeadAttention else REAL


@every_attending
@pytest.mark.parametrize("way", ["eager", "symbolic"])
def test_an_explicit_mask_combines_with_the_implicit_one(case, way):
    """Keras fills in `mask` when the input is the only tensor, and `<argument>_mask` when it is not."""
    layer, arrays, allowed = case.make(), masked_arrays(case), allowed_by(case)
    call = partial(layer, return_attention_scores=True)
    if way == "eager":
        found = call(*implicitly_masked(case, as_tensors(arrays)), attention_mask=allowed)
    else:
        inputs, mask = case.inputs(), keras.Input((None, None), dtype="bool")
        outputs = call(*implicitly_masked(case, inputs), attention_mask=mask)
        found = keras.Model([*inputs, mask], keras.tree.flatten(outputs))([*arrays, allowed])

    both = allowed & padding_of_the_keys(case)[:, None]
    # the memory of a decoder has a mask of its own, which is explicit here
    memory_mask = {"memory_mask": MEMORY_REAL} if "decoder" in case.name and len(case.takes) == 2 else {}
    same(found, call(*arrays, attention_mask=both, **memory_mask))
    weights = flat(found)[1]
    assert (weights[~np.broadcast_to(both[:, None], weights.shape)] == 0).all()


@every_attending
def test_an_explicit_mask_by_keras_own_name_does_what_the_implicit_one_does(case):
    layer, arrays = case.make(), masked_arrays(case)
    if case.make.func is kt.MultiHeadAttention:
        masks = {"value_mask": MEMORY_REAL}
    else:
        masks = {"mask": REAL}
        if len(case.takes) == 2:
            masks["memory_mask"] = MEMORY_REAL

    same(layer(*arrays, **masks), layer(*implicitly_masked(case, as_tensors(arrays))))


def test_the_mask_of_an_embedding_reaches_the_end_of_a_whole_network():
    ids = keras.Input((None,), dtype="int32")
    x = kt.TokenEmbedding(VOCABULARY, WIDTH)(ids)
    x = kt.PositionalEncoding(max_length=9, kind="learned")(x)
    memory = kt.TransformerEncoder(**STACK)(x)
    x = kt.TransformerDecoder(**STACK)(x, memory)
    x = kt.FeedForward(12)(x)
    model = keras.Model(ids, [Reveal()(x), keras.layers.GlobalAveragePooling1D()(x)])

    mask, pooled = model(IDS)

    np.testing.assert_array_equal(number(mask), REAL)
    same(pooled[1:], model(IDS[1:, :3])[1])
