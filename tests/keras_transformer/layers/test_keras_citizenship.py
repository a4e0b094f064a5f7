"""Every public layer does what a Keras user expects of a layer."""

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

import keras_transformer as kt

BATCH, LENGTH, SOURCE, WIDTH, MEMORY_WIDTH, VOCABULARY = 2, 5, 4, 8, 6, 11
BLOCK = {"num_heads": 2, "inner_width": 12}
STACK = {"num_layers": 2, **BLOCK}
REAL = np.arange(LENGTH) < np.array([[5], [3]])
MEMORY_REAL = np.arange(SOURCE) < np.array([[2], [4]])


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


X, MEMORY = normal(BATCH, LENGTH, WIDTH), normal(BATCH, SOURCE, MEMORY_WIDTH, seed=1)
IDS = np.where(REAL, np.random.default_rng(2).integers(1, VOCABULARY, (BATCH, LENGTH)), 0).astype("int32")


@dataclass(frozen=True)
class Case:
    """A layer, how it is made, and what it takes."""

    name: str
    make: Callable[..., keras.layers.Layer]
    takes: tuple[str, ...] = ("x",)
    drops: bool = True
    attends: bool = True

    @property
    def arrays(self):
        return tuple({"x": X, "memory": MEMORY, "ids": IDS}[name] for name in self.takes)

    def inputs(self, length=None, source=None):
        shapes = {"x": (length, WIDTH), "memory": (source, MEMORY_WIDTH), "ids": (length,)}
        types = {"ids": "int32"}
        return [keras.Input(shapes[name], dtype=types.get(name), name=name) for name in self.takes]

    @property
    def mask_shape(self):
        """Of the attention_mask without its batch."""
        return (LENGTH, SOURCE) if self.make.func is kt.MultiHeadAttention else (LENGTH, LENGTH)


def cases():
    yield Case("cross_attention", partial(kt.MultiHeadAttention, num_heads=2), ("x", "memory"))
    yield Case("self_attention", partial(kt.MultiHeadSelfAttention, num_heads=2))
    yield Case("sinusoidal", partial(kt.PositionalEncoding, max_length=9), drops=False, attends=False)
    yield Case(
        "learned",
        partial(kt.PositionalEncoding, max_length=9, kind="learned"),
        drops=False,
        attends=False,
    )
    yield Case("feed_forward", partial(kt.FeedForward, inner_width=12), attends=False)
    yield Case(
        "embedding", partial(kt.TokenEmbedding, VOCABULARY, WIDTH), ("ids",), drops=False, attends=False
    )
    for norm, first in ("pre", True), ("post", False):
        yield Case(f"encoder_block_{norm}", partial(kt.TransformerEncoderBlock, **BLOCK, norm_first=first))
        yield Case(f"encoder_{norm}", partial(kt.TransformerEncoder, **STACK, norm_first=first))
        yield Case(
            f"decoder_block_{norm}",
            partial(kt.TransformerDecoderBlock, **BLOCK, norm_first=first),
            ("x", "memory"),
        )
        yield Case(
            f"decoder_{norm}", partial(kt.TransformerDecoder, **STACK, norm_first=first), ("x", "memory")
        )
    yield Case("decoder_block_alone", partial(kt.TransformerDecoderBlock, **BLOCK))
    yield Case("decoder_alone", partial(kt.TransformerDecoder, **STACK, causal=False))


CASES = {case.name: case for case in cases()}
every = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
every_attending = pytest.mark.parametrize(
    "case", [pytest.param(case, id=name) for name, case in CASES.items() if case.attends]
)
every_dropping = pytest.mark.parametrize(
    "case", [pytest.param(case, id=name) for name, case in CASES.items() if case.drops]
)
takes_a_sequence = pytest.mark.parametrize(
    "case", [pytest.param(case, id=name) for name, case in CASES.items() if case.takes != ("ids",)]
)


def number(tensor):
    return ops.convert_to_numpy(ops.cast(tensor, "float32"))


def flat(outputs):
    return [number(tensor) for tensor in keras.tree.flatten(outputs)]


def same(found, expected, atol=1e-5):
    found, expected = flat(found), flat(expected)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=atol)


def as_tensors(arrays):
    return [ops.convert_to_tensor(array) for array in arrays]


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


# --- masks -------------------------------------------------------------------------------------------------


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


def allowed_by(case, seed=3):
    return np.random.default_rng(seed).random((BATCH, *case.mask_shape)) < 0.6


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


# --- saving, configurations, copies ------------------------------------------------------------------------


def functional(case, **settings):
    """A model around the layer, with everything that may be passed to it passed, and all its outputs."""
    inputs, layer = case.inputs(), case.make(**settings)
    if not case.attends:
        return keras.Model(inputs, layer(*inputs)), layer
    mask = keras.Input((None, None), dtype="bool", name="mask")
    outputs = layer(*inputs, attention_mask=mask, return_attention_scores=True)
    return keras.Model([*inputs, mask], keras.tree.flatten(outputs)), layer


def arguments(case):
    return [*case.arrays, allowed_by(case)] if case.attends else list(case.arrays)


@pytest.fixture(scope="module")
def models():
    """The functional model of each case and what it answers, made once."""
    made = {}

    def of(case):
        if case.name not in made:
            model, layer = functional(case)
            made[case.name] = model, layer, model(arguments(case))
        return made[case.name]

    return of


@every
def test_a_saved_model_loads_and_answers_the_same(case, models, tmp_path):
    model, layer, expected = models(case)
    model.save(tmp_path / "model.keras")

    loaded = keras.models.load_model(tmp_path / "model.keras")

    same(loaded(arguments(case)), expected, atol=1e-6)
    (again,) = [other for other in loaded.layers if type(other) is type(layer)]
    assert again.get_config() == layer.get_config()
    assert [weight.path for weight in again.weights] == [weight.path for weight in layer.weights]


@pytest.mark.parametrize("case", [CASES["embedding"], CASES["decoder_pre"]], ids=lambda case: case.name)
def test_weights_alone_are_saved_and_loaded(case, models, tmp_path):
    model, _, expected = models(case)
    model.save_weights(tmp_path / "model.weights.h5")

    other, _ = functional(case)
    other.load_weights(tmp_path / "model.weights.h5")

    same(other(arguments(case)), expected, atol=1e-6)


@every
def test_a_cloned_model_is_like_it_with_weights_of_its_own(case, models):
    model, _, expected = models(case)

    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())

    same(clone(arguments(case)), expected, atol=1e-6)
    assert not {id(weight) for weight in clone.weights} & {id(weight) for weight in model.weights}


CHANGED = {
    "num_layers": 3,
    "num_heads": 4,
    "inner_width": 10,
    "dropout": 0.3,
    "attention_dropout": 0.2,
    "inner_dropout": 0.25,
    "activation": "gelu",
    "norm_first": False,
    "epsilon": 0.01,
    "seed": 5,
    "causal": False,
    "max_length": 7,
    "kind": "learned",
    "vocabulary_size": 12,
    "width": 4,
    "pad_id": 3,
    "scale": False,
    "name": "mine",
    "trainable": False,
    "dtype": "mixed_bfloat16",
}


def settings_of(kind):
    """Every argument that the class and its parents take, but what a stack is told about its blocks."""
    taken = {
        name
        for parent in kind.__mro__
        if parent.__module__.startswith("keras_transformer")
        for name, argument in inspect.signature(parent).parameters.items()
        if argument.kind is not argument.VAR_KEYWORD
    }
    return {"name", "trainable", "dtype"} | taken - {"block_settings"}


TYPES = sorted({case.make.func for case in CASES.values()}, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
def test_the_configuration_tells_every_setting_and_makes_the_layer_again(kind):
    given = {name: CHANGED[name] for name in settings_of(kind)}

    config = kind(**given).get_config()

    assert {**config, "dtype": None} == {**given, "dtype": None}
    assert config["dtype"]["config"]["name"] == "mixed_bfloat16"
    assert kind.from_config(config).get_config() == config


@pytest.mark.parametrize("kind", [kt.TransformerEncoder, kt.TransformerDecoder])
def test_a_stack_hands_its_settings_to_every_block(kind):
    settings = {name: CHANGED[name] for name in kind().get_config() if name not in ("name", "num_layers")}

    stack = kind(num_layers=2, **settings)

    for block in stack.blocks:
        config = block.get_config()
        told = {name: value for name, value in settings.items() if name not in ("dtype", "seed", "trainable")}
        assert {name: config[name] for name in told} == told
        assert block.dtype_policy.name == "mixed_bfloat16"
    assert stack.blocks[0].seed != stack.blocks[1].seed


@keras.saving.register_keras_serializable(package="tests")
def doubled(x):
    return 2 * x


@pytest.mark.parametrize("kind", [kt.TransformerEncoder, kt.TransformerDecoder, kt.TransformerEncoderBlock])
def test_a_registered_activation_of_ones_own_is_saved_and_loaded(kind, tmp_path):
    layer = kind(**(BLOCK if kind is kt.TransformerEncoderBlock else STACK), activation=doubled)
    inputs = keras.Input((None, WIDTH))
    model = keras.Model(inputs, layer(inputs))
    model.save(tmp_path / "model.keras")

    same(keras.models.load_model(tmp_path / "model.keras")(X), model(X), atol=1e-6)


# --- precision ---------------------------------------------------------------------------------------------


@pytest.fixture
def policy():
    before = keras.config.dtype_policy()
    yield keras.config.set_dtype_policy
    keras.config.set_dtype_policy(before)


@every
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("way", ["global", "own"])
def test_mixed_precision_computes_in_half_and_keeps_float32(case, policy, dtype, way):
    if way == "global":
        policy("mixed_" + dtype)
        layer = case.make()
    else:
        layer = case.make(dtype="mixed_" + dtype)
    scores = {"return_attention_scores": True} if case.attends else {}

    outputs = keras.tree.flatten(layer(*case.arrays, **scores))

    assert {keras.backend.standardize_dtype(tensor.dtype) for tensor in outputs} == {dtype}
    assert {weight.dtype for weight in layer.trainable_weights} <= {"float32"}
    policy("float32")
    exact = case.make()
    exact(*case.arrays)
    exact.set_weights(layer.get_weights())
    # bfloat16 has 8 bits: a few roundings of numbers of order one
    same(outputs, exact(*case.arrays, **scores), atol=0.1 if dtype == "bfloat16" else 0.02)


@every
def test_every_layer_inside_has_the_policy_of_the_whole(case):
    layer = case.make(dtype="mixed_bfloat16")
    layer(*case.arrays)

    assert {inner.dtype_policy.name for inner in layer._flatten_layers()} == {"mixed_bfloat16"}


@every
def test_a_mixed_model_takes_symbolic_inputs(case):
    inputs = case.inputs()

    output = case.make(dtype="mixed_bfloat16")(*inputs)

    assert output.dtype == "bfloat16"


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_the_way_back_of_an_embedding_is_in_the_type_of_its_policy(dtype):
    logits = kt.TokenEmbedding(VOCABULARY, WIDTH, dtype=dtype)(X, reverse=True)

    assert keras.backend.standardize_dtype(logits.dtype) == dtype.removeprefix("mixed_")


# --- calls of every kind -----------------------------------------------------------------------------------


class Together:
    """All the layers in one model, so that one compilation serves all; lengths and batch left open."""

    def __init__(self):
        self.inputs = {
            "x": keras.Input((None, WIDTH), name="x"),
            "memory": keras.Input((None, MEMORY_WIDTH), name="memory"),
            "ids": keras.Input((None,), dtype="int32", name="ids"),
        }
        # one block to a stack: the second would be compiled for nothing
        single = {
            name: {"num_layers": 1} if "num_layers" in case.make.keywords else {}
            for name, case in CASES.items()
        }
        self.layers = {name: case.make(name=name, **single[name]) for name, case in CASES.items()}
        self.model = keras.Model(self.inputs, self.call(self.inputs))

    def call(self, inputs):
        outputs = {}
        for name, case in CASES.items():
            scores = {"return_attention_scores": True} if case.attends else {}
            taken = [inputs[taken] for taken in case.takes]
            found = self.layers[name](*taken, **scores)
            outputs |= {f"{name}/{i}": tensor for i, tensor in enumerate(keras.tree.flatten(found))}
        return outputs


@pytest.fixture(scope="module")
def together():
    return Together()


SHAPES = [(2, 5, 4), (3, 2, 6), (1, 1, 1)]


def batch_of(batch, length, source):
    ids = np.random.default_rng(4).integers(0, VOCABULARY, (batch, length)).astype("int32")
    return {
        "x": normal(batch, length, WIDTH, seed=5),
        "memory": normal(batch, source, MEMORY_WIDTH, seed=6),
        "ids": ids,
    }


@pytest.fixture(scope="module", params=[False, True], ids=["graph", "jit"])
def predicted(request, together):
    """What model.predict gives for batches of several shapes."""
    if request.param and keras.backend.backend() == "torch":
        pytest.skip("torch.compile needs a C++ compiler, and is nothing that these layers bring")
    together.model.compile(jit_compile=request.param)
    shapes = SHAPES[:1] if request.param else SHAPES  # each shape is a compilation under jit
    return [(shape, together.model.predict(batch_of(*shape), verbose=0)) for shape in shapes]


@every
def test_compiled_and_eager_calls_agree_at_any_batch_and_length(case, together, predicted):
    for shape, found in predicted:
        expected = together.call({name: ops.convert_to_tensor(a) for name, a in batch_of(*shape).items()})
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
    assert tuple(layer.compute_output_shape(*open_shapes)) == (None, None, WIDTH)


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


# --- dropout and seeds -------------------------------------------------------------------------------------


def dropping(case, seed):
    settings = {"dropout": 0.5, "seed": seed}
    if "coder" in case.name:
        settings |= {"attention_dropout": 0.5, "inner_dropout": 0.5}
    return case.make(**settings)


@every_dropping
def test_one_seed_makes_dropout_repeatable(case):
    first, again, other = dropping(case, 7), dropping(case, 7), dropping(case, 8)
    outputs = []
    for layer in (first, again, other):
        layer(*case.arrays)
        for weight, value in zip(layer.trainable_weights, first.trainable_weights, strict=True):
            weight.assign(value)
        outputs.append([number(layer(*case.arrays, training=True)) for _ in range(2)])

    same(outputs[0], outputs[1], atol=0)
    assert np.abs(outputs[0][0] - outputs[0][1]).max() > 1e-3  # each call draws anew
    assert np.abs(outputs[0][0] - outputs[2][0]).max() > 1e-3


@every_dropping
def test_the_seed_of_keras_makes_weights_and_dropout_repeatable(case):
    def run():
        keras.utils.set_random_seed(3)
        return number(dropping(case, None)(*case.arrays, training=True))

    same(run(), run(), atol=0)


@every_dropping
def test_dropout_is_for_training_only(case):
    layer, without = dropping(case, 1), case.make(dropout=0.0)
    without(*case.arrays)
    layer(*case.arrays)
    for weight, value in zip(layer.trainable_weights, without.trainable_weights, strict=True):
        weight.assign(value)
    expected = without(*case.arrays)

    same(layer(*case.arrays), expected, atol=1e-6)
    same(layer(*case.arrays, training=False), expected, atol=1e-6)
    same(without(*case.arrays, training=True), expected, atol=1e-6)
    assert np.abs(number(layer(*case.arrays, training=True)) - number(expected)).max() > 1e-3


@pytest.mark.parametrize("kind", ["dropout", "attention_dropout", "inner_dropout"])
@pytest.mark.parametrize(
    "case", [pytest.param(case, id=name) for name, case in CASES.items() if "coder" in name]
)
def test_each_kind_of_dropout_of_a_block_do_something(case, kind):
    layer = case.make(**{"dropout": 0.0, "seed": 1, kind: 0.5})

    difference = number(layer(*case.arrays, training=True)) - number(layer(*case.arrays))

    assert np.abs(difference).max() > 1e-4


@pytest.mark.parametrize("name", ["encoder_pre", "decoder_pre"])
def test_no_two_things_in_a_stack_drop_alike(name):
    layer = dropping(CASES[name], 7)
    layer(*CASES[name].arrays)
    seeds = [
        inner.seed
        for inner in layer._flatten_layers()
        if isinstance(inner, keras.layers.Dropout) and inner.rate > 0
    ]

    assert len(seeds) == len(set(seeds)) == (6 if name == "encoder_pre" else 8)


def test_scores_are_those_before_dropout():
    layer = kt.MultiHeadSelfAttention(num_heads=2, dropout=0.9, seed=0)

    _, scores = layer(X, return_attention_scores=True, training=True)

    np.testing.assert_allclose(number(scores).sum(-1), 1, rtol=1e-5)


# --- weights -----------------------------------------------------------------------------------------------


@every
def test_every_weight_has_a_path_of_its_own(case, models):
    _, layer, _ = models(case)
    paths = [weight.path for weight in layer.weights]

    assert len(set(paths)) == len(paths)
    assert all(path.startswith(layer.name + "/") for path in paths)


def test_the_paths_of_a_decoder_can_be_read():
    decoder = kt.TransformerDecoder(num_layers=1, **BLOCK, name="decoder")
    decoder(X, MEMORY)

    assert {weight.path: weight.shape for weight in decoder.trainable_weights} == {
        "decoder/block_0/self_attention/query_key_value/kernel": (8, 24),
        "decoder/block_0/self_attention/query_key_value/bias": (24,),
        "decoder/block_0/self_attention/output/kernel": (8, 8),
        "decoder/block_0/self_attention/output/bias": (8,),
        "decoder/block_0/self_attention_norm/gamma": (8,),
        "decoder/block_0/self_attention_norm/beta": (8,),
        "decoder/block_0/cross_attention/query/kernel": (8, 8),
        "decoder/block_0/cross_attention/query/bias": (8,),
        "decoder/block_0/cross_attention/key_value/kernel": (6, 16),
        "decoder/block_0/cross_attention/key_value/bias": (16,),
        "decoder/block_0/cross_attention/output/kernel": (8, 8),
        "decoder/block_0/cross_attention/output/bias": (8,),
        "decoder/block_0/cross_attention_norm/gamma": (8,),
        "decoder/block_0/cross_attention_norm/beta": (8,),
        "decoder/block_0/feed_forward/inner/kernel": (8, 12),
        "decoder/block_0/feed_forward/inner/bias": (12,),
        "decoder/block_0/feed_forward/outer/kernel": (12, 8),
        "decoder/block_0/feed_forward/outer/bias": (8,),
        "decoder/block_0/feed_forward_norm/gamma": (8,),
        "decoder/block_0/feed_forward_norm/beta": (8,),
        "decoder/norm/gamma": (8,),
        "decoder/norm/beta": (8,),
    }


@every
def test_a_frozen_layer_has_nothing_to_train(case):
    layer = case.make(trainable=False)
    layer(*case.arrays)

    assert layer.trainable_weights == []


# --- a process that knows nothing --------------------------------------------------------------------------

LOAD = """
import sys
import keras_transformer
keras_transformer.TransformerEncoder  # the first public name registers every layer
import keras
import numpy as np
model = keras.models.load_model(sys.argv[1])
answers = model({name: array for name, array in np.load(sys.argv[2]).items()})
np.savez(sys.argv[3], **{name: keras.ops.convert_to_numpy(answer) for name, answer in answers.items()})
"""


def test_a_fresh_process_loads_every_layer_once_a_public_name_was_asked_for(together, tmp_path):
    model, asked, answered = tmp_path / "model.keras", tmp_path / "asked.npz", tmp_path / "answered.npz"
    together.model.save(model)
    np.savez(asked, **batch_of(2, 3, 4))

    subprocess.run(
        [sys.executable, "-c", LOAD, model, asked, answered],
        check=True,
        env={**os.environ, "KERAS_BACKEND": keras.backend.backend()},
        timeout=120,
    )

    found, expected = np.load(answered), together.model(batch_of(2, 3, 4))
    assert set(found) == set(expected)
    for name, answer in expected.items():
        np.testing.assert_allclose(found[name], number(answer), rtol=0, atol=1e-6)
