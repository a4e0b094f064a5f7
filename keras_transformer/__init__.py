"""Keras Transformer layers, and a translation model that is trained, exported and served.

Importing the package loads no framework: asking for the first name does, and registers every layer for
`keras.models.load_model`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keras_transformer.layers import (
        FeedForward,
        MultiHeadAttention,
        MultiHeadSelfAttention,
        PositionalEncoding,
        TokenEmbedding,
        TransformerDecoder,
        TransformerDecoderBlock,
        TransformerEncoder,
        TransformerEncoderBlock,
        causal_mask,
        padding_mask,
        scaled_dot_product_attention,
    )
    from keras_transformer.models.translation import TranslationModel

__version__ = "0.1.0"
__all__ = [
    "FeedForward",
    "MultiHeadAttention",
    "MultiHeadSelfAttention",
    "PositionalEncoding",
    "TokenEmbedding",
    "TransformerDecoder",
    "TransformerDecoderBlock",
    "TransformerEncoder",
    "TransformerEncoderBlock",
    "TranslationModel",
    "causal_mask",
    "padding_mask",
    "scaled_dot_product_attention",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    model = import_module("keras_transformer.models.translation")  # uses every layer: all get registered
    return getattr(model if name == "TranslationModel" else import_module("keras_transformer.layers"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
