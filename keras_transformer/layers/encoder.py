"""The encoder: blocks that let every position look at every other.

B batch, T length, D width, H heads.
"""

from typing import Any

import keras

from keras_transformer.layers.block import TransformerBlock
from keras_transformer.layers.masks import both
from keras_transformer.layers.stack import TransformerStack
from keras_transformer.layers.tensor import Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
class TransformerEncoderBlock(TransformerBlock):
    """Self-attention and a feed-forward network, (B, T, D) -> (B, T, D).

    The implicit mask hides padding and passes through; attention_mask, (B, T, T) or (B, H, T, T), combines
    with it.
    """

    def build(self, inputs_shape: Shape) -> None:
        self._build_common(inputs_shape)

    def call(
        self,
        inputs: Tensor,
        attention_mask: Tensor | None = None,
        return_attention_scores: bool = False,
        mask: Tensor | None = None,
        inputs_mask: Tensor | None = None,
    ) -> Any:
        """The output, and with return_attention_scores also the weights (B, H, T, T)."""
        attended, scores = self.self_attention(
            self._enter(inputs, self.self_attention_norm),
            attention_mask=attention_mask,
            mask=both(mask, inputs_mask),
            return_attention_scores=True,
        )
        output = self._feed(self._leave(inputs, attended, self.self_attention_norm))
        return (output, scores) if return_attention_scores else output


@keras.saving.register_keras_serializable(package="keras_transformer")
class TransformerEncoder(TransformerStack):
    """num_layers encoder blocks, (B, T, D) -> (B, T, D); pre-norm ends with one more layer normalisation.

    The implicit mask hides padding and passes through; attention_mask, (B, T, T) or (B, H, T, T), combines
    with it.
    """

    block_class = TransformerEncoderBlock

    def build(self, inputs_shape: Shape) -> None:
        self._build_blocks(inputs_shape)

    def call(
        self,
        inputs: Tensor,
        attention_mask: Tensor | None = None,
        return_attention_scores: bool = False,
        mask: Tensor | None = None,
        inputs_mask: Tensor | None = None,
    ) -> Any:
        """The output, and with return_attention_scores also the weights (B, H, T, T) of each block."""
        padding = both(mask, inputs_mask)
        x, scores = inputs, []
        for block in self.blocks:
            x, weights = block(x, attention_mask=attention_mask, mask=padding, return_attention_scores=True)
            scores.append(weights)
        output = self._finish(x)
        return (output, scores) if return_attention_scores else output
