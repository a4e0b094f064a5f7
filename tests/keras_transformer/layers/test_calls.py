"""A call gives the same compiled or not, of arrays or tensors, at any length; its shape is known before."""

import keras
import numpy as np
import pytest

import keras_transformer as kt
from tests.support.layer_cases import (
    BATCH,
    LENGTH,
    SOURCE,
    VOCABULARY,
    WIDTH,
    X,
    as_tensors,
    batch_of,
    every,
    number,
    same,
)

SHAPES = [(2, 5, 4), (3, 2, 6), (1, 1, 1)]


@pytest.fixture(scope="module", params=[False, True], ids=["graph", "jit"])
def predicted(request, together):
    """What model.predict gives for batches of several shapes, and what a call does."""
    if request.param and keras.backend.backend() == "torch":
        pytest.skip("torch.compile needs a C++ compiler, and is nothing that these layers bring")
    together.model.compile(jit_compile=request.param)
    shapes = SHAPES[:1] if request.param else SHAPES  # each shape is a compilation under jit
    return [
        (
            together.model.predict(batch, verbose=0),
            together.call(dict(zip(batch, as_tensors(batch.values()), strict=True))),
        )
        for batch in (batch_of(*shape) for shape in shapes)
    ]


@every
def test_compiled_and_eager_calls_agree_at_any_batch_and_length(case, predicted):
    for found, expected in predicted:
        ours = [name for name in expected if name.split("/")[0] == case.name]
        assert ours
        for name in ours:
            np.testing.assert_allclose(found[name], number(expected[name]), rtol=0, atol=1e-5)


@every
def test_symbolic_shapes_are_the_real_ones_with_none_for_what_is_open(case):
    layer, scores = case.make(), {"return_attention_scores": True} if case.attends else {}
    opened = layer(*case.inputs(), **scores)
    known = layer(*case.inputs(length=LENGTH, source=SOURCE), **scores)
    real = layer(*case.arrays, **scores)

    for open_one, known_one, real_one in zip(*map(keras.tree.flatten, (opened, known, real)), strict=True):
        shape = tuple(real_one.shape)
        assert known_one.shape == (None, *shape[1:])
        assert len(open_one.shape) == len(shape)
        assert open_one.shape[0] is None
        heads_or_width = {1} if len(shape) == 4 else {2}
        for axis in range(1, len(shape)):
            assert open_one.shape[axis] == (shape[axis] if axis in heads_or_width else None)


@every
def test_compute_output_shape_is_the_shape_of_the_output(case):
    layer = case.make()
    shapes = [array.shape for array in case.arrays]

    assert tuple(layer.compute_output_shape(*shapes)) == tuple(layer(*case.arrays).shape)
    open_shapes = [tuple(tensor.shape) for tensor in case.inputs()]
    assert tuple(layer.compute_output_shape(*open_shapes)) == (None, None, layer(*case.arrays).shape[-1])


def test_compute_output_shape_of_the_way_back_ends_with_the_vocabulary():
    layer = kt.TokenEmbedding(VOCABULARY, WIDTH)

    assert layer.compute_output_shape(X.shape, reverse=True) == (BATCH, LENGTH, VOCABULARY)
    assert layer(keras.Input((None, WIDTH)), reverse=True).shape == (None, None, VOCABULARY)


@every
def test_numpy_arrays_and_tensors_are_taken_alike(case):
    layer = case.make()

    same(layer(*case.arrays), layer(*as_tensors(case.arrays)), atol=0)


@every
def test_a_layer_built_by_hand_has_the_weights_of_one_that_was_called(case):
    built, called = case.make(name="same"), case.make(name="same")
    built.build(*[tuple(tensor.shape) for tensor in case.inputs()])
    called(*case.arrays)

    described = [[(weight.path, weight.shape) for weight in layer.weights] for layer in (built, called)]
    # a layer that is built outside of a call has not opened its own name
    assert [(path.split("/")[-1], shape) for path, shape in described[0]] == [
        (path.split("/")[-1], shape) for path, shape in described[1]
    ]
    built.set_weights(called.get_weights())
    same(built(*case.arrays), called(*case.arrays))
