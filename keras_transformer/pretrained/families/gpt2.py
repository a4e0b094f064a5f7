"""GPT-2, as transformers saves it: its configuration, and the mapping of its tensors."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.models.families.gpt2 import GPT2
from keras_transformer.pretrained.config import ACTIVATIONS, MAX_LAYERS, ConfigReader, read_config
from keras_transformer.pretrained.directory import PretrainedDirectory
from keras_transformer.pretrained.families.loading import ends_of, made
from keras_transformer.pretrained.mapping import Constant, Fill
from keras_transformer.pretrained.rules import norm, table
from keras_transformer.pretrained.weights import Weights, open_weights

OUTPUT = "lm_head.weight"
#: Options that change the network, with the one value that is computed here.
FIXED = {"add_cross_attention": False, "scale_attn_by_inverse_layer_idx": False}


def load_gpt2(kind: type[GPT2], path: Path) -> GPT2:
    """Make a GPT-2 of a directory.

    Raises:
        PretrainedError: With everything that is wrong with the directory.
    """
    directory = PretrainedDirectory(path)
    config = read_config(directory)
    values = _network(directory, config)
    config.check(path)
    weights = open_weights(directory)
    constants = [*_constants(values, weights)]
    return made(kind, directory, weights, values, [*_fills(values)], constants)


def _network(directory: PretrainedDirectory, config: ConfigReader) -> dict[str, Any]:
    """Read the fields of the network."""
    config.family(["gpt2"])
    config.fixed(FIXED, ", which alone is supported")
    width, vocabulary_size = config.size("n_embd", 768, 2**16), config.size("vocab_size", 50257)
    heads = config.size("n_head", 12, 2**10)
    config.divides("n_head", heads, "n_embd", width)
    has_inner = config.values.get("n_inner") is not None
    return {
        "vocabulary_size": vocabulary_size,
        "num_layers": config.size("n_layer", 12, MAX_LAYERS),
        "width": width,
        "inner_width": config.size("n_inner", most=2**18) if has_inner else 4 * width,
        "num_heads": heads,
        "dropout": config.rate("resid_pdrop", 0.1),
        "embedding_dropout": config.rate("embd_pdrop", 0.1),
        "attention_dropout": config.rate("attn_pdrop", 0.1),
        "activation": config.choice("activation_function", ACTIVATIONS, "gelu_new"),
        "epsilon": config.positive("layer_norm_epsilon", 1e-5),
        "max_length": config.size("n_positions", 1024, 2**16),
        "score_scale": None if config.flag("scale_attn_weights", True) else 1.0,
        "tied_output": config.flag("tie_word_embeddings", True),
        "end_id": ends_of(directory, config, vocabulary_size, 50256),
    }


def _named(name: str) -> tuple[str, str]:
    """Return the names of a tensor, in a language model and in files of the network alone."""
    return f"transformer.{name}", name


def _fills(values: dict[str, Any]) -> Iterator[Fill]:
    width, inner, shape = values["width"], values["inner_width"], (values["vocabulary_size"], values["width"])
    tied = (OUTPUT,) if values["tied_output"] else ()
    yield table(("embedding", "embeddings"), (*_named("wte.weight"), *tied), shape)
    yield table(("positions", "table"), _named("wpe.weight"), (values["max_length"], width))
    for index in range(values["num_layers"]):
        block, theirs = ("decoder", "blocks", index), f"h.{index}"
        for target, name, outer in (
            (("self_attention", "query_key_value_projection"), "attn.c_attn", (width, 3 * width)),
            (("self_attention", "output_projection"), "attn.c_proj", (width, width)),
            (("feed_forward", "inner"), "mlp.c_fc", (width, inner)),
            (("feed_forward", "outer"), "mlp.c_proj", (inner, width)),
        ):  # its matrices are (in, out), as here
            yield table((*block, *target, "kernel"), _named(f"{theirs}.{name}.weight"), outer)
            yield table((*block, *target, "bias"), _named(f"{theirs}.{name}.bias"), outer[1:])
        yield from norm((*block, "self_attention_norm"), _named(f"{theirs}.ln_1"), width)
        yield from norm((*block, "feed_forward_norm"), _named(f"{theirs}.ln_2"), width)
    yield from norm(("decoder", "norm"), _named("ln_f"), width)
    if not values["tied_output"]:
        yield table(("untied_output", "embeddings"), (OUTPUT,), shape)


def _constants(values: dict[str, Any], weights: Weights) -> Iterator[Constant]:
    """Yield the causal masks that older files have; a mask of another size than the model's is surplus."""
    shape = (1, 1, values["max_length"], values["max_length"])
    names = [name for index in range(values["num_layers"]) for name in _named(f"h.{index}.attn.bias")]
    masks = [name for name in names if name in weights and weights.shape(name) == shape]
    if masks:  # only then is the file as large as the table
        allowed = np.tri(values["max_length"], dtype=np.float32)[None, None]
        yield from (Constant(name, allowed) for name in masks)
    for index in range(values["num_layers"]):
        for name in _named(f"h.{index}.attn.masked_bias"):
            yield Constant(name, np.full((), -1e4, np.float32))
