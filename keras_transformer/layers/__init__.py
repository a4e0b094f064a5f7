"""The maths of the Transformer as Keras layers, in keras.ops alone: no configuration, no text, no files."""

from keras_transformer.layers.attention.masks import causal_mask, padding_mask
from keras_transformer.layers.attention.multi_head import (
    MultiHeadAttention,
    MultiHeadSelfAttention,
    scaled_dot_product_attention,
)
from keras_transformer.layers.decoder import TransformerDecoder, TransformerDecoderBlock
from keras_transformer.layers.embeddings import TokenEmbedding
from keras_transformer.layers.encoder import TransformerEncoder, TransformerEncoderBlock
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.positions import PositionalEncoding

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
    "causal_mask",
    "padding_mask",
    "scaled_dot_product_attention",
]
