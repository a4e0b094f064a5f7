"""The same weights for CTranslate2.

Its model is written through its own specification: the fused projections, the sinusoids as they are here,
one matrix for the embeddings and the output.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.common_spec import Activation

from keras_transformer.files import making
from keras_transformer.layers import MultiHeadAttention, MultiHeadSelfAttention, TokenEmbedding
from keras_transformer.models.hosted import unlike_network
from keras_transformer.models.translation import TranslationModel

ACTIVATIONS = {"relu": Activation.RELU, "gelu": Activation.GELU, "silu": Activation.SWISH}


def write_ctranslate2(model: TranslationModel, directory: Path) -> None:
    """A directory that `ctranslate2.Translator` opens; its tokens are the pieces of the tokenizer."""
    tokenizer = model.tokenizer
    if tokenizer is None:
        raise ValueError("this model has no tokenizer: CTranslate2 needs the pieces behind its ids.")
    source = tokenizer.pieces_source(range(tokenizer.source_size))
    target = tokenizer.pieces_target(range(tokenizer.target_size))
    write_with_vocabulary(model, source, target, tokenizer.bos_id, tokenizer.eos_id, directory)


def write_with_vocabulary(
    model: TranslationModel,
    source: Sequence[str],
    target: Sequence[str],
    start_id: int,
    end_id: int,
    directory: Path,
) -> None:
    """The same for tokens of any name: source[i] and target[i] are what id i is called."""
    spec = _spec(model)
    spec.register_source_vocabulary(list(source))
    spec.register_target_vocabulary(list(target))
    spec.config.bos_token = spec.config.decoder_start_token = target[start_id]
    spec.config.eos_token = target[end_id]
    spec.config.unk_token = target[1]
    spec.config.layer_norm_epsilon = model.encoder.epsilon
    spec.validate()
    with making(directory) as complete:
        spec.save(str(complete))


def _spec(model: TranslationModel) -> Any:
    refused = unlike_network(model)
    if refused:
        raise ValueError(refused)
    network = model.network
    if network.activation not in ACTIVATIONS:
        raise ValueError(
            f"CTranslate2 has the activations {', '.join(ACTIVATIONS)}; this network has "
            f"{network.activation!r}."
        )
    spec = TransformerSpec.from_config(
        (network.encoder_layers, network.decoder_layers),
        network.num_heads,
        pre_norm=network.norm_first,
        activation=ACTIVATIONS[network.activation],
    )
    _embedding(spec.encoder.embeddings[0], spec.encoder, model.source_embedding)
    _embedding(spec.decoder.embeddings, spec.decoder, model.target_embedding)
    for side, stack in ((spec.encoder, model.encoder), (spec.decoder, model.decoder)):
        side.position_encodings.encodings = model.positions.table
        if stack.norm is not None:
            _norm(side.layer_norm, stack.norm)
        for layer, block in zip(side.layer, stack.blocks, strict=True):
            _block(layer, block)
    spec.decoder.projection.weight = spec.decoder.embeddings.weight
    return spec


def _embedding(spec: Any, side: Any, embedding: TokenEmbedding) -> None:
    spec.weight = _array(embedding.embeddings)
    side.scale_embeddings = embedding.scale


def _block(spec: Any, block: Any) -> None:
    _norm(spec.self_attention.layer_norm, block.self_attention_norm)
    _self_attention(spec.self_attention, block.self_attention)
    if hasattr(spec, "attention"):
        _norm(spec.attention.layer_norm, block.cross_attention_norm)
        _cross_attention(spec.attention, block.cross_attention)
    _norm(spec.ffn.layer_norm, block.feed_forward_norm)
    _linear(spec.ffn.linear_0, block.feed_forward.inner)
    _linear(spec.ffn.linear_1, block.feed_forward.outer)


def _self_attention(spec: Any, attention: MultiHeadSelfAttention) -> None:
    _linear(spec.linear[0], attention.query_key_value_projection)
    _linear(spec.linear[1], attention.output_projection)


def _cross_attention(spec: Any, attention: MultiHeadAttention) -> None:
    _linear(spec.linear[0], attention.query_projection)
    _linear(spec.linear[1], attention.key_value_projection)
    _linear(spec.linear[2], attention.output_projection)


def _linear(spec: Any, dense: Any) -> None:
    spec.weight = np.ascontiguousarray(_array(dense.kernel).T)
    spec.bias = _array(dense.bias)


def _norm(spec: Any, norm: Any) -> None:
    spec.gamma, spec.beta = _array(norm.gamma), _array(norm.beta)


def _array(weight: Any) -> Any:
    return np.asarray(weight, np.float32)
