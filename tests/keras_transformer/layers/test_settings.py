"""What a layer is told, its precision too, holds for all that is in it and is told by its configuration."""

import inspect

import keras
import pytest

import keras_transformer as kt
from tests.support.layer_cases import CASES, VOCABULARY, WIDTH, X, every, same

serialized = keras.saving.serialize_keras_object

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
    "embeddings_initializer": serialized(keras.initializers.Constant(2.0)),
    "embeddings_regularizer": serialized(keras.regularizers.L2(0.5)),
    "embeddings_constraint": None,  # LoRA has none
    "key_dim": 3,
    "value_dim": 5,
    "use_bias": False,
    "kernel_initializer": serialized(keras.initializers.Constant(2.0)),
    "bias_initializer": serialized(keras.initializers.Constant(3.0)),
    "kernel_regularizer": serialized(keras.regularizers.L2(0.25)),
    "bias_regularizer": serialized(keras.regularizers.L1(0.5)),
    "kernel_constraint": serialized(keras.constraints.NonNeg()),
    "bias_constraint": serialized(keras.constraints.MaxNorm(2)),
    "lora_rank": 2,
    "lora_alpha": 4,
    "quantization_config": None,
    "num_key_value_heads": 2,
    "score_scale": 0.5,
    "rotary": serialized(kt.RotaryPositions(base=100.0, factor=4.0)),
    "normalization": "rms",
    "gated": True,
    "relative_bias": {"num_buckets": 8, "max_distance": 16},
    "attention_options": {"key_dim": 6, "rotary": serialized(kt.RotaryPositions(base=100.0))},
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
        if argument.kind not in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD)
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


@every
def test_a_frozen_layer_has_nothing_to_train(case):
    layer = case.make(trainable=False)
    layer(*case.arrays)

    assert layer.trainable_weights == []


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
