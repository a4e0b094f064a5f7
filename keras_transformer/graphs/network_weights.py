"""A translation network as input of the graphs: its sizes, and its weights as arrays by name."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


@dataclass(frozen=True)
class NetworkWeights:
    """Sizes of a network, and its weights by name.

    D width, I inner width, V ids of a side, P positions, N the index of a block:

        output/embeddings                                           (V, D), where the output is not tied
        output/bias                                                 (V,), added to the logits, if anything is
        source_embedding/embeddings, target_embedding/embeddings    (V, D), one table if both sides share it
        positions/table                                             (P, D)
        {encoder,decoder}/block_N/self_attention_norm/{gamma,beta}  (D,), as those of the other norms
        {encoder,decoder}/block_N/self_attention/query_key_value    kernel (D, 3 D), bias (3 D,)
        {encoder,decoder}/block_N/self_attention/output             kernel (D, D), bias (D,)
        {encoder,decoder}/block_N/feed_forward_norm
        {encoder,decoder}/block_N/feed_forward/inner                kernel (D, I), bias (I,)
        {encoder,decoder}/block_N/feed_forward/outer                kernel (I, D), bias (D,)
        decoder/block_N/cross_attention_norm
        decoder/block_N/cross_attention/query                       kernel (D, D), bias (D,)
        decoder/block_N/cross_attention/key_value                   kernel (D, 2 D), bias (2 D,)
        decoder/block_N/cross_attention/output                      kernel (D, D), bias (D,)
        {encoder,decoder}/norm                                      with norm_first alone

    Args:
        encoder_layers: Number of encoder blocks.
        decoder_layers: Number of decoder blocks.
        width: Width of the vectors between the blocks.
        num_heads: Number of attention heads of the encoder.
        decoder_heads: Number of attention heads of the decoder.
        target_vocabulary: Number of target ids.
        activation: Name of the feed-forward networks' activation in Keras.
        norm_first: Pre-norm if True, post-norm if False.
        epsilon: Value that layer normalization adds to the variance.
        scale_embeddings: Whether embeddings are multiplied by √width.
        arrays: Weights in float32; the mapping may create each array at its lookup.
    """

    encoder_layers: int
    decoder_layers: int
    width: int
    num_heads: int
    decoder_heads: int
    target_vocabulary: int
    activation: str
    norm_first: bool
    epsilon: float
    scale_embeddings: bool
    arrays: Mapping[str, Array]
