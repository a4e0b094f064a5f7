"""Writer of a CTranslate2 model through that library's own specification.

The projections are fused, the positions are the model's own table, and the output projection is the target
embedding.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.common_spec import Activation

from keras_transformer.files import making
from keras_transformer.graphs.network_weights import Array, NetworkWeights
from keras_transformer.models.translation import TranslationModel
from keras_transformer.models.weights import network_weights, unlike_network

Arrays = Mapping[str, Array]

ACTIVATIONS = {"relu": Activation.RELU, "gelu": Activation.GELU, "silu": Activation.SWISH}


def write_ctranslate2(model: TranslationModel, directory: Path) -> None:
    """Write a directory that `ctranslate2.Translator` opens; its tokens are the pieces of the tokenizer.

    Args:
        model: Model with float weights.
        directory: The directory, which must not exist.

    Raises:
        ValueError: If the model has no tokenizer, or needs operations that CTranslate2 does not have.
        FileExistsError: If the directory exists.
    """
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
    """Write a model with given tokens: source[i] and target[i] are the tokens of id i.

    Raises:
        ValueError: If the model needs operations that CTranslate2 does not have.
    """
    refused = unlike_network(model)
    if refused:
        raise ValueError(refused)
    network = network_weights(model)
    spec = _spec(network)
    spec.register_source_vocabulary(list(source))
    spec.register_target_vocabulary(list(target))
    spec.config.bos_token = spec.config.decoder_start_token = target[start_id]
    spec.config.eos_token = target[end_id]
    spec.config.unk_token = target[1]
    spec.config.layer_norm_epsilon = network.epsilon
    spec.validate()
    spec.optimize()  # equal tables are written once
    with making(directory) as complete:
        spec.save(str(complete))


def _spec(network: NetworkWeights) -> Any:
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
    spec.decoder.num_heads = np.dtype("int16").type(network.decoder_heads)
    arrays = network.arrays
    spec.encoder.embeddings[0].weight = arrays["source_embedding/embeddings"]
    spec.decoder.embeddings.weight = arrays["target_embedding/embeddings"]
    for name, side in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        side.scale_embeddings = network.scale_embeddings
        side.position_encodings.encodings = arrays["positions/table"]
        if network.norm_first:
            _norm(side.layer_norm, arrays, f"{name}/norm")
        for index, layer in enumerate(side.layer):
            _block(layer, arrays, f"{name}/block_{index}")
    untied = arrays.get("output/embeddings")
    spec.decoder.projection.weight = spec.decoder.embeddings.weight if untied is None else untied
    if "output/bias" in arrays:
        spec.decoder.projection.bias = arrays["output/bias"]
    return spec


def _block(spec: Any, arrays: Arrays, name: str) -> None:
    attention = f"{name}/self_attention"
    _norm(spec.self_attention.layer_norm, arrays, f"{attention}_norm")
    _linear(spec.self_attention.linear[0], arrays, f"{attention}/query_key_value")
    _linear(spec.self_attention.linear[1], arrays, f"{attention}/output")
    if hasattr(spec, "attention"):
        attention = f"{name}/cross_attention"
        _norm(spec.attention.layer_norm, arrays, f"{attention}_norm")
        _linear(spec.attention.linear[0], arrays, f"{attention}/query")
        _linear(spec.attention.linear[1], arrays, f"{attention}/key_value")
        _linear(spec.attention.linear[2], arrays, f"{attention}/output")
    _norm(spec.ffn.layer_norm, arrays, f"{name}/feed_forward_norm")
    _linear(spec.ffn.linear_0, arrays, f"{name}/feed_forward/inner")
    _linear(spec.ffn.linear_1, arrays, f"{name}/feed_forward/outer")


def _linear(spec: Any, arrays: Arrays, name: str) -> None:
    spec.weight = np.ascontiguousarray(arrays[f"{name}/kernel"].T)
    spec.bias = arrays[f"{name}/bias"]


def _norm(spec: Any, arrays: Arrays, name: str) -> None:
    spec.gamma, spec.beta = arrays[f"{name}/gamma"], arrays[f"{name}/beta"]
