"""T5, as transformers saves it: its configuration, and the mapping of its tensors."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.models.families.t5 import T5
from keras_transformer.pretrained.config import ACTIVATIONS, MAX_LAYERS, ConfigReader, read_config
from keras_transformer.pretrained.directory import PretrainedDirectory
from keras_transformer.pretrained.families.loading import ends_of, made, rms_norm
from keras_transformer.pretrained.mapping import Fill, Target, Tensor
from keras_transformer.pretrained.rules import linear, table
from keras_transformer.pretrained.weights import Weights, open_weights

SHARED, OUTPUT = "shared.weight", "lm_head.weight"
#: Files of the first years have a table that nothing reads.
UNREAD = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"


def load_t5(kind: type[T5], path: Path) -> T5:
    """Make a T5 of a directory.

    Raises:
        PretrainedError: With everything that is wrong with the directory.
    """
    directory = PretrainedDirectory(path)
    config = read_config(directory)
    values = _network(directory, config)
    config.check(path)
    weights = open_weights(directory)
    values["tied_output"] = values["tied_output"] and not _has_own_output(weights)
    unused = [Tensor((UNREAD,), (values["num_buckets"], values["num_heads"]))]
    return made(kind, directory, weights, values, [*_fills(values)], unused=unused)


def _network(directory: PretrainedDirectory, config: ConfigReader) -> dict[str, Any]:
    """Read the fields of the network."""
    config.family(["t5"])
    config.fixed({"is_encoder_decoder": True}, ", which alone is supported")
    width, vocabulary_size = config.size("d_model", 512, 2**16), config.size("vocab_size", 32128)
    layers = config.size("num_layers", 6, MAX_LAYERS)
    has_own = config.values.get("num_decoder_layers") is not None
    buckets = config.size("relative_attention_num_buckets", 32, 2**12)
    distance = config.size("relative_attention_max_distance", 128, 2**16)
    if buckets < 4 or distance <= buckets // 2:
        rule = "must be at least 4, and less than twice relative_attention_max_distance"
        config.wrong("relative_attention_num_buckets", rule, buckets)
    gated, activation = _feed_forward(config)
    pad_id = config.id("pad_token_id", vocabulary_size, 0)
    # transformers 4 ties the output, and scales it, unless told otherwise; 5 writes the scale down
    tied = config.flag("tie_word_embeddings", True)
    return {
        "vocabulary_size": vocabulary_size,
        "encoder_layers": layers,
        "decoder_layers": config.size("num_decoder_layers", most=MAX_LAYERS) if has_own else layers,
        "width": width,
        "inner_width": config.size("d_ff", 2048, 2**18),
        "num_heads": config.size("num_heads", 8, 2**10),
        "head_width": config.size("d_kv", 64, 2**12),
        "num_buckets": buckets,
        "max_distance": distance,
        "dropout": config.rate("dropout_rate", 0.1),
        "activation": activation,
        "gated": gated,
        "epsilon": config.positive("layer_norm_epsilon", 1e-6),
        "score_scale": 1.0,
        "tied_output": tied,
        "scale_output": config.flag("scale_decoder_outputs", tied),
        "pad_id": pad_id,
        "start_id": config.id("decoder_start_token_id", vocabulary_size, pad_id),
        "end_id": ends_of(directory, config, vocabulary_size, 1),
    }


def _feed_forward(config: ConfigReader) -> tuple[bool, str]:
    """Return whether the feed-forward layers have a gate, and their activation."""
    name = config.text("feed_forward_proj", "relu")
    gated, activation = name.startswith("gated-"), name.removeprefix("gated-")
    if activation not in ACTIVATIONS:
        config.wrong("feed_forward_proj", f"must be one of {', '.join(ACTIVATIONS)}, or gated-…", name)
        return gated, "relu"
    return gated, "gelu_tanh" if name == "gated-gelu" else ACTIVATIONS[activation]


def _has_own_output(weights: Weights) -> bool:
    """Return whether a file has a table of the output that is not that of the input."""
    return OUTPUT in weights and not (SHARED in weights and np.array_equal(weights[OUTPUT], weights[SHARED]))


def _fills(values: dict[str, Any]) -> Iterator[Fill]:
    width, shape = values["width"], (values["vocabulary_size"], values["width"])
    names = [SHARED, "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"]
    yield table(("embedding", "embeddings"), names + [OUTPUT] * values["tied_output"], shape)
    for side in ("encoder", "decoder"):
        heads = "block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        bias_shape = (values["num_buckets"], values["num_heads"])
        yield table((side, "position_bias", "table"), [f"{side}.{heads}"], bias_shape)
        for index in range(values[f"{side}_layers"]):
            yield from _block(side, index, values)
        yield rms_norm((side, "norm"), [f"{side}.final_layer_norm.weight"], width)
    if not values["tied_output"]:
        yield table(("untied_output", "embeddings"), [OUTPUT], shape)


def _block(side: str, index: int, values: dict[str, Any]) -> Iterator[Fill]:
    block, theirs = (side, "blocks", index), f"{side}.block.{index}.layer"
    width, inner = values["width"], values["inner_width"]
    own = (*block, "self_attention")
    yield from _dense((*own, "query_key_value_projection"), f"{theirs}.0.SelfAttention", "qkv", values)
    yield from _output((*own, "output_projection"), f"{theirs}.0.SelfAttention", values)
    norms = ["self_attention_norm"]
    if side == "decoder":
        cross, name = (*block, "cross_attention"), f"{theirs}.1.EncDecAttention"
        yield from _dense((*cross, "query_projection"), name, "q", values)
        yield from _dense((*cross, "key_value_projection"), name, "kv", values)
        yield from _output((*cross, "output_projection"), name, values)
        norms.append("cross_attention_norm")
    dense = f"{theirs}.{len(norms)}.DenseReluDense"
    layers = {"inner": "wi_0", "linear": "wi_1"} if values["gated"] else {"inner": "wi"}
    for target, name in layers.items():
        yield from linear((*block, "feed_forward", target), [[f"{dense}.{name}"]], (inner, width), False)
    yield from linear((*block, "feed_forward", "outer"), [[f"{dense}.wo"]], (width, inner), False)
    for number, target in enumerate([*norms, "feed_forward_norm"]):
        yield rms_norm((*block, target), [f"{theirs}.{number}.layer_norm.weight"], width)


def _dense(target: Target, name: str, parts: Sequence[str], values: dict[str, Any]) -> Iterator[Fill]:
    shape = (values["num_heads"] * values["head_width"], values["width"])
    yield from linear(target, [[f"{name}.{part}"] for part in parts], shape, False)


def _output(target: Target, name: str, values: dict[str, Any]) -> Iterator[Fill]:
    shape = (values["width"], values["num_heads"] * values["head_width"])
    yield from linear(target, [[f"{name}.o"]], shape, False)
