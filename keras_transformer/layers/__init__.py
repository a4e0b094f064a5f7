"""The maths of the Transformer as Keras layers, in keras.ops alone: no configuration, no text, no files."""

from keras_transformer.layers.activations import gelu_tanh
from keras_transformer.layers.attention.additive import AdditiveAttention
from keras_transformer.layers.attention.dot_product import scaled_dot_product_attention
from keras_transformer.layers.attention.masks import causal_mask, padding_mask
from keras_transformer.layers.attention.multi_head import MultiHeadAttention
from keras_transformer.layers.attention.relative_bias import RelativeBias
from keras_transformer.layers.attention.rotary import RotaryPositions
from keras_transformer.layers.attention.self_attention import MultiHeadSelfAttention
from keras_transformer.layers.class_token import ClassToken
from keras_transformer.layers.decoder.decoder_block import TransformerDecoderBlock
from keras_transformer.layers.decoder.decoder_stack import TransformerDecoder
from keras_transformer.layers.embeddings import TokenEmbedding
from keras_transformer.layers.encoder import TransformerEncoder, TransformerEncoderBlock
from keras_transformer.layers.feed_forward.gated import GatedFeedForward
from keras_transformer.layers.feed_forward.plain import FeedForward
from keras_transformer.layers.positions import PositionalEncoding
from keras_transformer.layers.token_types import TokenTypeEmbedding

__all__ = [
    "AdditiveAttention",
    "ClassToken",
    "FeedForward",
    "GatedFeedForward",
    "MultiHeadAttention",
    "MultiHeadSelfAttention",
    "PositionalEncoding",
    "RelativeBias",
    "RotaryPositions",
    "TokenEmbedding",
    "TokenTypeEmbedding",
    "TransformerDecoder",
    "TransformerDecoderBlock",
    "TransformerEncoder",
    "TransformerEncoderBlock",
    "causal_mask",
    "gelu_tanh",
    "padding_mask",
    "scaled_dot_product_attention",
]
