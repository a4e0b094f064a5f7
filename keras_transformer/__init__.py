"""Keras Transformer layers, and a translation model that is trained, exported and served.

Importing the package loads no framework. The first access to a name does, and registers every layer for
`keras.models.load_model`.
"""

from importlib import import_module

TYPE_CHECKING = False  # not from typing, whose import would delay the command line by milliseconds
if TYPE_CHECKING:
    from typing import Any

    from keras_transformer.layers import (
        AdditiveAttention,
        ClassToken,
        FeedForward,
        GatedFeedForward,
        MultiHeadAttention,
        MultiHeadSelfAttention,
        PositionalEncoding,
        RelativeBias,
        RotaryPositions,
        TokenEmbedding,
        TokenTypeEmbedding,
        TransformerDecoder,
        TransformerDecoderBlock,
        TransformerEncoder,
        TransformerEncoderBlock,
        causal_mask,
        padding_mask,
        scaled_dot_product_attention,
    )
    from keras_transformer.models.ensemble import TranslationEnsemble
    from keras_transformer.models.translation import TranslationModel
    from keras_transformer.text.sentences import Lengths
    from keras_transformer.text.subword_tokenizer import SubwordTokenizer
    from keras_transformer.text.tokenizer import Tokenizer
    from keras_transformer.training.data.text_batches import text_batches
    from keras_transformer.training.loss import LabelSmoothedCrossEntropy

__version__ = "0.1.0"
__all__ = [
    "AdditiveAttention",
    "ClassToken",
    "FeedForward",
    "GatedFeedForward",
    "LabelSmoothedCrossEntropy",
    "Lengths",
    "MultiHeadAttention",
    "MultiHeadSelfAttention",
    "PositionalEncoding",
    "RelativeBias",
    "RotaryPositions",
    "SubwordTokenizer",
    "TokenEmbedding",
    "TokenTypeEmbedding",
    "Tokenizer",
    "TransformerDecoder",
    "TransformerDecoderBlock",
    "TransformerEncoder",
    "TransformerEncoderBlock",
    "TranslationEnsemble",
    "TranslationModel",
    "causal_mask",
    "padding_mask",
    "scaled_dot_product_attention",
    "text_batches",
]
_ELSEWHERE = {  # all others are layers
    "LabelSmoothedCrossEntropy": "training.loss",
    "Lengths": "text.sentences",
    "SubwordTokenizer": "text.subword_tokenizer",
    "Tokenizer": "text.tokenizer",
    "TranslationEnsemble": "models.ensemble",
    "TranslationModel": "models.translation",
    "text_batches": "training.data.text_batches",
}


def __getattr__(name: str) -> "Any":
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_module("keras_transformer.models.translation")  # imports, and so registers, every layer
    return getattr(import_module(f"keras_transformer.{_ELSEWHERE.get(name, 'layers')}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
