"""Llama, as transformers saves it: its configuration, and the mapping of its tensors."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.layers import RotaryPositions
from keras_transformer.models.families.llama import Llama
from keras_transformer.pretrained.config import ACTIVATIONS, MAX_LAYERS, ConfigReader, read_config
from keras_transformer.pretrained.directory import PretrainedDirectory
from keras_transformer.pretrained.families.loading import ends_of, made, rms_norm
from keras_transformer.pretrained.mapping import Constant, Fill, Target, Tensor
from keras_transformer.pretrained.rules import linear, table
from keras_transformer.pretrained.weights import open_weights

OUTPUT = "lm_head.weight"
#: Names of Llama 3's scaling, and the arguments of RotaryPositions.
SCALING = {
    "factor": "factor",
    "low_freq_factor": "low_frequency_factor",
    "high_freq_factor": "high_frequency_factor",
    "original_max_position_embeddings": "original_length",
}


def load_llama(kind: type[Llama], path: Path) -> Llama:
    """Make a Llama of a directory.

    Raises:
        PretrainedError: With everything that is wrong with the directory.
    """
    directory = PretrainedDirectory(path)
    config = read_config(directory)
    values = _network(directory, config)
    config.check(path)
    frequencies = RotaryPositions(**dict(values["rotary"])).frequencies(values["head_width"])
    constants = [
        Constant(name, frequencies)
        for index in range(values["num_layers"])
        for name in _named(f"layers.{index}.self_attn.rotary_emb.inv_freq")
    ]
    return made(kind, directory, open_weights(directory), values, [*_fills(values)], constants)


def _network(directory: PretrainedDirectory, config: ConfigReader) -> dict[str, Any]:
    """Read the fields of the network."""
    config.family(["llama"])
    given = {name for name, value in config.values.items() if value is not None}
    config.fixed({"pretraining_tp": 1} if "pretraining_tp" in given else {}, ", which alone is supported")
    width, vocabulary_size = config.size("hidden_size", 4096, 2**16), config.size("vocab_size", 32000)
    heads = config.size("num_attention_heads", 32, 2**10)
    groups = config.size("num_key_value_heads", most=2**10) if "num_key_value_heads" in given else heads
    config.divides("num_key_value_heads", groups, "num_attention_heads", heads)
    if "head_dim" not in given:
        config.divides("num_attention_heads", heads, "hidden_size", width)
    head_width = config.size("head_dim", most=2**12) if "head_dim" in given else width // (heads or 1)
    if head_width % 2:
        config.wrong("head_dim", "must be even: rotary positions turn pairs", head_width)
    return {
        "vocabulary_size": vocabulary_size,
        "num_layers": config.size("num_hidden_layers", 32, MAX_LAYERS),
        "width": width,
        "inner_width": config.size("intermediate_size", 11008, 2**18),
        "num_heads": heads,
        "num_key_value_heads": groups,
        "head_width": head_width,
        "attention_dropout": config.rate("attention_dropout", 0.0),
        "activation": config.choice("hidden_act", ACTIVATIONS, "silu"),
        "epsilon": config.positive("rms_norm_eps", 1e-6),
        "attention_bias": config.flag("attention_bias", False),
        "inner_bias": config.flag("mlp_bias", False),
        "rotary": _rotary(config),
        "tied_output": config.flag("tie_word_embeddings", False),
        "end_id": ends_of(directory, config, vocabulary_size, 2),
    }


def _rotary(config: ConfigReader) -> tuple[tuple[str, float], ...]:
    """Read rotary positions: rope_parameters; in older files rope_theta and rope_scaling."""
    options = config.values.get("rope_parameters") or config.values.get("rope_scaling") or {}
    if not isinstance(options, dict):
        config.wrong("rope_parameters", "must be an object", options)
        return ()
    rope = ConfigReader(
        {"rope_theta": config.values.get("rope_theta", 10_000.0), **options}, config.file, config.problems
    )
    kind = options.get("rope_type", options.get("type", "default"))
    if kind not in ("default", "llama3"):
        rope.wrong("rope_type", "must be default or llama3", kind)
    rope.fixed({"partial_rotary_factor": 1.0}, ", which alone is supported")
    found = {"base": rope.positive("rope_theta", 10_000.0)}
    if kind == "llama3":
        longest = config.size("max_position_embeddings", 2048, 2**30)
        defaults = {"original_max_position_embeddings": longest}
        for name, own in SCALING.items():
            if name not in options and name not in defaults:
                rope.problems.append(f"{rope.file}: {name} of rope_type llama3 is missing")
            found[own] = rope.positive(name, defaults.get(name, 1.0))
        if found["high_frequency_factor"] <= found["low_frequency_factor"]:
            rope.wrong("high_freq_factor", "must be above low_freq_factor", found["high_frequency_factor"])
            return ()
    return tuple(found.items())


def _named(name: str) -> tuple[str, str]:
    """Return the names of a tensor, in a language model and in files of the network alone."""
    return f"model.{name}", name


def _fills(values: dict[str, Any]) -> Iterator[Fill]:
    width, inner, shape = values["width"], values["inner_width"], (values["vocabulary_size"], values["width"])
    tied = (OUTPUT,) if values["tied_output"] else ()
    yield table(("embedding", "embeddings"), (*_named("embed_tokens.weight"), *tied), shape)
    for index in range(values["num_layers"]):
        block, theirs = ("decoder", "blocks", index), f"layers.{index}"
        yield from _attention((*block, "self_attention"), f"{theirs}.self_attn", values)
        for own, name, outer in (
            ("inner", "gate_proj", (inner, width)),
            ("linear", "up_proj", (inner, width)),
            ("outer", "down_proj", (width, inner)),
        ):
            names = [_named(f"{theirs}.mlp.{name}")]
            yield from linear((*block, "feed_forward", own), names, outer, values["inner_bias"])
        for own, name in (
            ("self_attention_norm", "input_layernorm"),
            ("feed_forward_norm", "post_attention_layernorm"),
        ):
            yield rms_norm((*block, own), _named(f"{theirs}.{name}.weight"), width)
    yield rms_norm(("decoder", "norm"), _named("norm.weight"), width)
    if not values["tied_output"]:
        yield table(("untied_output", "embeddings"), (OUTPUT,), shape)


def _attention(target: Target, name: str, values: dict[str, Any]) -> Iterator[Fill]:
    """Yield the rules for grouped heads: queries, keys and values side by side."""
    width, head_width = values["width"], values["head_width"]
    queries, keys = values["num_heads"] * head_width, values["num_key_value_heads"] * head_width
    outs = {"q_proj": queries, "k_proj": keys, "v_proj": keys}
    own = (*target, "query_key_value_projection")
    kernels = tuple(Tensor(_named(f"{name}.{part}.weight"), (out, width)) for part, out in outs.items())
    yield Fill((*own, "kernel"), kernels, lambda *parts: np.concatenate(parts).T)
    if values["attention_bias"]:
        biases = tuple(Tensor(_named(f"{name}.{part}.bias"), (out,)) for part, out in outs.items())
        yield Fill((*own, "bias"), biases, lambda *parts: np.concatenate(parts))
    output = [_named(f"{name}.o_proj")]
    yield from linear((*target, "output_projection"), output, (width, queries), values["attention_bias"])
