"""The weights of a translation model by name, for writing ONNX graphs and files of other engines."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import keras
import numpy as np

from keras_transformer import layers
from keras_transformer.graphs.network_weights import Array, NetworkWeights
from keras_transformer.graphs.recurrent import RecurrentWeights
from keras_transformer.layers.arguments import arguments_of
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.normalization import LayerNormalization
from keras_transformer.models.encoder_decoder import EncoderDecoder
from keras_transformer.models.recurrent import RecurrentTranslationModel
from keras_transformer.models.translation import TranslationModel

#: The layers that hold weights, with the names of their weights.
_ATTRIBUTES: dict[type, tuple[str, ...]] = {
    layers.TokenEmbedding: ("embeddings",),
    layers.PositionalEncoding: ("table",),
    LayerNormalization: ("gamma", "beta"),
    keras.layers.Dense: ("kernel", "bias"),
    keras.layers.GRUCell: ("kernel", "recurrent_kernel", "bias"),
    layers.AdditiveAttention: ("scale",),
}
#: The layers that weights by name can stand for. A subclass may compute something else.
_KNOWN = {
    *_ATTRIBUTES,
    TranslationModel,
    layers.TransformerEncoder,
    layers.TransformerEncoderBlock,
    layers.TransformerDecoder,
    layers.TransformerDecoderBlock,
    layers.MultiHeadSelfAttention,
    layers.MultiHeadAttention,
    layers.FeedForward,
    Dropout,
    keras.layers.Dropout,
    RecurrentTranslationModel,
    keras.layers.Bidirectional,
    keras.layers.GRU,
}


class _LayerWeights(Mapping[str, Array]):
    """Arrays by name, read from the layer at every lookup, to avoid a second copy in memory."""

    def __init__(self, readers: dict[str, Callable[[], Any]]) -> None:
        self._readers = readers

    def __getitem__(self, name: str) -> Array:
        return np.asarray(self._readers[name](), np.float32)

    def __iter__(self) -> Iterator[str]:
        return iter(self._readers)

    def __len__(self) -> int:
        return len(self._readers)


def network_weights(model: TranslationModel) -> NetworkWeights:
    """Return the sizes and weights of a model for which `unlike_network` returns None."""
    network, root = model.network, f"{model.path}/"
    named = {
        "source_embedding": model.source_embedding,
        "target_embedding": model.target_embedding,
        "positions": model.positions,
    }
    inner = [*model.encoder._flatten_layers(), *model.decoder._flatten_layers()]
    named |= {layer.path.removeprefix(root): layer for layer in inner if type(layer) in _ATTRIBUTES}
    if not network.tied_output:
        named["output"] = model.projection()
    readers = _readers(named)
    if network.output_bias or network.forbidden:
        readers["output/bias"] = model.decoding_bias
    return NetworkWeights(
        **arguments_of(network, NetworkWeights),
        target_vocabulary=model.target_embedding.vocabulary_size,
        epsilon=model.encoder.epsilon,
        arrays=_LayerWeights(readers),
    )


def recurrent_weights(model: RecurrentTranslationModel) -> RecurrentWeights:
    """Return the sizes and weights of a recurrent model for which `unlike_network` returns None."""
    named: dict[str, Any] = {
        "source_embedding": model.source_embedding,
        "target_embedding": model.target_embedding,
        "output": model.output_projection,
        **{f"decoder_{index}": layer.cell for index, layer in enumerate(model.decoder)},
        **{f"bridge_{index}": layer for index, layer in enumerate(model.bridges)},
    }
    for index, layer in enumerate(model.encoder):
        named[f"encoder_{index}/forward"] = layer.forward_layer.cell
        named[f"encoder_{index}/backward"] = layer.backward_layer.cell
    if model.network.attention:
        named["attention"] = model.attention
        named["attention/query"] = model.attention.query_projection
        named["attention/key"] = model.attention.key_projection
    return RecurrentWeights(
        **arguments_of(model.network, RecurrentWeights),
        target_vocabulary=model.target_embedding.vocabulary_size,
        arrays=_LayerWeights(_readers(named)),
    )


def _readers(named: Mapping[str, Any]) -> dict[str, Callable[[], Any]]:
    """Return a function for each weight of these layers that returns its values."""
    return {
        f"{name}/{attribute}": partial(getattr, layer, attribute)
        for name, layer in named.items()
        for attribute in _ATTRIBUTES[type(layer)]
    }


def unlike_network(model: EncoderDecoder) -> str | None:
    """Return the reason why sizes and float weights do not describe this model fully, or None if they do."""
    for layer in model._flatten_layers():
        if type(layer) not in _KNOWN:
            return f"{layer.path} is a {type(layer).__name__}, which graphs of weights cannot stand for."
        if layer.quantization_mode is not None:
            return (
                f"{layer.path} is quantized to {layer.quantization_mode}; the graphs are made of float "
                "weights. Export the model as it was before quantize(); the export quantizes by itself."
            )
    return None
