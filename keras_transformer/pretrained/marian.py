"""MarianMT, as transformers saves it: the mapping of its tensors to those of a TranslationModel.

Ids are numbered anew, so that they mean here what they mean in every other model: 0 is padding, 1 unknown,
2 the start, 3 the end; all other pieces follow in the order of the vocabulary. The rows of the tables move
with them. The start is a row of its own, a copy of the row that transformers starts from, the padding.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keras_transformer.layers.positions import halves, sinusoids
from keras_transformer.models.translation import TranslationModel
from keras_transformer.pretrained.directory import PretrainedDirectory
from keras_transformer.pretrained.mapping import (
    Constant,
    Fill,
    Target,
    Tensor,
    Values,
    check_names,
    fill,
)
from keras_transformer.pretrained.marian_config import MarianConfig, is_marians_own, read_marian_config
from keras_transformer.pretrained.marian_npz import read_npz
from keras_transformer.pretrained.marian_vocabulary import Vocabularies, read_vocabularies
from keras_transformer.pretrained.rules import linear, norm
from keras_transformer.pretrained.weights import Weights, open_weights
from keras_transformer.text.sentences import UNKNOWN

SHARED, OUTPUT = "model.shared.weight", "lm_head.weight"
ENCODER, DECODER = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"


def load_marian(path: Path) -> TranslationModel:
    """Make a translation model of a MarianMT directory.

    Args:
        path: Holds config.json, model.safetensors or pytorch_model.bin, source.spm, target.spm, vocab.json,
            and perhaps generation_config.json, tokenizer_config.json and target_vocab.json; or, as Marian
            writes it, model.npz and vocabularies.

    Returns:
        The model with its tokenizer.

    Raises:
        PretrainedError: With what is wrong with the directory. Nothing in it is executed.
    """
    directory = PretrainedDirectory(path)
    if is_marians_own(directory):
        return _made(*read_npz(directory))
    config = read_marian_config(directory)
    vocabularies = read_vocabularies(directory, config)
    weights = open_weights(directory)
    shares = config.shares_vocabulary and (config.network.tied_output or ENCODER not in weights)
    fills = list(_fills(config, vocabularies, shares))
    constants = _positions(config)
    unused = [] if shares else [Tensor((SHARED,), (config.source_vocabulary, config.network.width))]
    return _made(config, vocabularies, weights, fills, shares, constants, unused)


def _made(
    config: MarianConfig,
    vocabularies: Vocabularies,
    weights: Weights,
    fills: Sequence[Fill],
    shares: bool,
    constants: Sequence[Constant] = (),
    unused: Sequence[Tensor] = (),
) -> TranslationModel:
    """Make a model, and fill it with weights that are all there."""
    check_names(weights, fills, constants, unused)
    network = replace(config.network, forbidden=vocabularies.forbidden)
    target_size = None if shares else len(vocabularies.target.rows)
    tokenizer = vocabularies.tokenizer
    lengths = UNKNOWN._replace(longest=network.max_length)
    model = TranslationModel(network, len(vocabularies.source.rows), target_size, tokenizer, lengths)
    model.build()
    fill(model, weights, fills, constants)
    return model


def _positions(config: MarianConfig) -> list[Constant]:
    table = halves(sinusoids(config.network.max_length, config.network.width))
    return [Constant(f"model.{side}.embed_positions.weight", table) for side in ("encoder", "decoder")]


def _fills(config: MarianConfig, vocabularies: Vocabularies, shares: bool) -> Iterator[Fill]:
    """Yield the rules for all weights; `shares` is whether source and target have one table."""
    yield from _tables(config, vocabularies, shares)
    bias = Tensor(("final_logits_bias",), (1, config.target_vocabulary))
    rows = vocabularies.target.rows
    target = "source_embedding" if shares else "target_embedding"
    projection = target if config.network.tied_output else "untied_output"
    yield Fill((projection, "bias"), (bias,), lambda values: values[0, rows])
    for side, layers, inner in (
        ("encoder", config.network.encoder_layers, config.network.inner_width),
        ("decoder", config.network.decoder_layers, config.decoder_inner_width),
    ):
        for layer in range(layers):
            yield from _block(side, layer, config.network.width, inner)


def _tables(config: MarianConfig, vocabularies: Vocabularies, shares: bool) -> Iterator[Fill]:
    """The embeddings of the source, of the target, and the output's. What is one may have several names.

    transformers 5 shares no table at all where the output is not tied, and saves `model.shared` unread.
    """
    tied = (OUTPUT,) if config.network.tied_output else ()
    if shares:
        tables = [("source_embedding", (SHARED, ENCODER, DECODER, *tied), vocabularies.source.rows)]
    else:
        tables = [
            ("source_embedding", (ENCODER,), vocabularies.source.rows),
            ("target_embedding", (DECODER, *tied), vocabularies.target.rows),
        ]
    if not config.network.tied_output:
        tables.append(("untied_output", (OUTPUT,), vocabularies.target.rows))
    for name, names, rows in tables:
        size = config.source_vocabulary if name == "source_embedding" else config.target_vocabulary
        yield Fill((name, "embeddings"), (Tensor(names, (size, config.network.width)),), _taking(rows))


def _taking(rows: NDArray[np.int64]) -> Callable[[Values], Values]:
    return lambda table: table[rows]


def _block(side: str, layer: int, width: int, inner: int) -> Iterator[Fill]:
    block, name = (side, "blocks", layer), f"model.{side}.layers.{layer}"
    own = (*block, "self_attention")
    yield from _projections((*own, "query_key_value_projection"), f"{name}.self_attn", tuple("qkv"), width)
    yield from _projections((*own, "output_projection"), f"{name}.self_attn", ("out",), width)
    yield from norm((*block, "self_attention_norm"), [f"{name}.self_attn_layer_norm"], width)
    if side == "decoder":
        cross = (*block, "cross_attention")
        yield from _projections((*cross, "query_projection"), f"{name}.encoder_attn", ("q",), width)
        yield from _projections((*cross, "key_value_projection"), f"{name}.encoder_attn", ("k", "v"), width)
        yield from _projections((*cross, "output_projection"), f"{name}.encoder_attn", ("out",), width)
        yield from norm((*block, "cross_attention_norm"), [f"{name}.encoder_attn_layer_norm"], width)
    yield from linear((*block, "feed_forward", "inner"), [[f"{name}.fc1"]], (inner, width))
    yield from linear((*block, "feed_forward", "outer"), [[f"{name}.fc2"]], (width, inner))
    yield from norm((*block, "feed_forward_norm"), [f"{name}.final_layer_norm"], width)


def _projections(target: Target, attention: str, parts: Sequence[str], width: int) -> Iterator[Fill]:
    yield from linear(target, [[f"{attention}.{part}_proj"] for part in parts], (width, width))
