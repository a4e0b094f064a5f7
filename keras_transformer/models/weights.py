"""The weights of a translation model by name, for writing ONNX graphs and files of other engines."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import keras
import numpy as np

from keras_transformer import layers
from keras_transformer.graphs.network_weights import Array, NetworkWeights
from keras_transformer.layers.arguments import arguments_of
from keras_transformer.layers.normalization import LayerNormalization
from keras_transformer.models.translation import TranslationModel

#: The layers that hold weights, with the names of their weights.
_ATTRIBUTES: dict[type, tuple[str, ...]] = {
    layers.TokenEmbedding: ("embeddings",),
    layers.PositionalEncoding: ("table",),
    LayerNormalization: ("gamma", "beta"),
    keras.layers.Dense: ("kernel", "bias"),
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
    keras.layers.Dropout,
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
    readers: dict[str, Callable[[], Any]] = {
        f"{name}/{attribute}": partial(getattr, layer, attribute)
        for name, layer in named.items()
        for attribute in _ATTRIBUTES[type(layer)]
    }
    if network.output_bias or network.forbidden:
        readers["output/bias"] = model.decoding_bias
    return NetworkWeights(
        **arguments_of(network, NetworkWeights),
        target_vocabulary=model.target_embedding.vocabulary_size,
        epsilon=model.encoder.epsilon,
        arrays=_LayerWeights(readers),
    )


def unlike_network(model: TranslationModel) -> str | None:
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
