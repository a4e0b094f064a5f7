"""The Transformer encoder.

B batch, T length, D width, H heads.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.attention.masks import both
from keras_transformer.layers.block import TransformerBlock
from keras_transformer.layers.stack import TransformerStack
from keras_transformer.layers.tensor import Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
class TransformerEncoderBlock(TransformerBlock):
    """Encoder block: self-attention and a feed-forward network, (B, T, D) -> (B, T, D).

    The implicit mask hides padding, and passes through to the output.

    Args:
        num_heads: Number of attention heads; it must divide the width of the input.
        inner_width: Width between the two layers of the feed-forward network.
        dropout: Share of each sublayer's output to drop in training.
        attention_dropout: Share of the attention weights to drop in training.
        inner_dropout: Share of the feed-forward network's inner activations to drop in training.
        activation: Activation of the feed-forward network.
        norm_first: Pre-norm if True, post-norm as in the original paper if False.
        epsilon: Epsilon of the layer normalizations.
        seed: Seed of all dropouts.
        normalization: Kind of the normalizations, "layer" or "rms".
        gated: Whether the feed-forward network is a GatedFeedForward.
        use_bias: Whether attention and feed-forward network have biases.
        attention_options: More arguments of the attention layers, such as num_key_value_heads or rotary.
        **kwargs: Arguments of keras.layers.Layer.

    Raises:
        ValueError: If a size, a rate or epsilon is out of range.

    Example:
        ```python
        x = TransformerEncoderBlock(num_heads=4, inner_width=256)(x)
        ```
    """

    def build(self, inputs_shape: Shape) -> None:
        """Create the weights of the sublayers."""
        self._build_common(inputs_shape)

    def call(
        self,
        inputs: Tensor,
        attention_mask: Tensor | None = None,
        return_attention_scores: bool = False,
        mask: Tensor | None = None,
        inputs_mask: Tensor | None = None,
        attention_bias: Tensor | None = None,
    ) -> Any:
        """Encode a sequence.

        Keras fills in `mask` where the input is the only tensor passed, and `inputs_mask` where it is not.

        Args:
            inputs: Vectors (B, T, D).
            attention_mask: (B, T, T) or (B, H, T, T), True where a position may attend. It combines with the
                padding mask.
            return_attention_scores: Whether to return the attention weights too.
            mask: Padding mask (B, T), True for real positions.
            inputs_mask: Padding mask (B, T), as `mask`.
            attention_bias: Values that are added to the scores (B, H, T, T), or broadcast to them.

        Returns:
            The output (B, T, D); with return_attention_scores a pair of it and the weights (B, H, T, T).
        """
        attended, scores = self.self_attention(
            self._enter(inputs, self.self_attention_norm),
            attention_mask=attention_mask,
            mask=both(mask, inputs_mask),
            attention_bias=attention_bias,
            return_attention_scores=True,
        )
        output = self._feed(self._leave(inputs, attended, self.self_attention_norm))
        return (output, scores) if return_attention_scores else output


@keras.saving.register_keras_serializable(package="keras_transformer")
class TransformerEncoder(TransformerStack):
    """Stack of encoder blocks, (B, T, D) -> (B, T, D).

    A pre-norm stack ends with one more layer normalization. The implicit mask hides padding, and passes
    through to the output.

    Args:
        num_layers: Number of blocks.
        block_settings: Arguments of the blocks that differ from those of the stack.
        num_heads: Number of attention heads; it must divide the width of the input.
        inner_width: Width between the two layers of the feed-forward networks.
        dropout: Share of each sublayer's output to drop in training.
        attention_dropout: Share of the attention weights to drop in training.
        inner_dropout: Share of the feed-forward networks' inner activations to drop in training.
        activation: Activation of the feed-forward networks.
        norm_first: Pre-norm if True, post-norm as in the original paper if False.
        epsilon: Epsilon of the layer normalizations.
        seed: Seed of all dropouts.
        relative_bias: Arguments of a RelativeBias that all blocks share, {} for its defaults; None for none.
        normalization: Kind of the normalizations, "layer" or "rms".
        gated: Whether the feed-forward network is a GatedFeedForward.
        use_bias: Whether attention and feed-forward network have biases.
        attention_options: More arguments of the attention layers, such as num_key_value_heads or rotary.
        **kwargs: Arguments of keras.layers.Layer.

    Raises:
        ValueError: If a size, a rate or epsilon is out of range.

    Example:
        ```python
        x = TokenEmbedding(vocabulary_size=8000, width=128)(ids)
        x = PositionalEncoding(max_length=256)(x)
        x = TransformerEncoder(num_layers=2, num_heads=4, inner_width=256)(x)
        ```
    """

    block_class = TransformerEncoderBlock

    def build(self, inputs_shape: Shape) -> None:
        """Create the weights of all blocks."""
        self._build_blocks(inputs_shape)

    def call(
        self,
        inputs: Tensor,
        attention_mask: Tensor | None = None,
        return_attention_scores: bool = False,
        mask: Tensor | None = None,
        inputs_mask: Tensor | None = None,
    ) -> Any:
        """Encode a sequence.

        Keras fills in `mask` where the input is the only tensor passed, and `inputs_mask` where it is not.

        Args:
            inputs: Vectors (B, T, D).
            attention_mask: (B, T, T) or (B, H, T, T), True where a position may attend. It combines with the
                padding mask.
            return_attention_scores: Whether to return the attention weights too.
            mask: Padding mask (B, T), True for real positions.
            inputs_mask: Padding mask (B, T), as `mask`.

        Returns:
            The output (B, T, D); with return_attention_scores a pair of it and a list of each block's weights
            (B, H, T, T).
        """
        padding, bias = both(mask, inputs_mask), self._bias(ops.shape(inputs)[1])
        x, scores = inputs, []
        for block in self.blocks:
            x, weights = block(
                x,
                attention_mask=attention_mask,
                mask=padding,
                attention_bias=bias,
                return_attention_scores=True,
            )
            scores.append(weights)
        output = self._finish(x)
        return (output, scores) if return_attention_scores else output
