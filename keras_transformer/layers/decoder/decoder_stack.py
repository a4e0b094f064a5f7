"""The stack of decoder blocks: all positions at once in training, one position at a time in decoding.

B batch, T target length, S source length, D width, H heads, K width of a head.
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_transformer.layers.arguments import check_whole
from keras_transformer.layers.attention.masks import both
from keras_transformer.layers.decoder.cache import (
    BlockCache,
    DecoderCache,
    checked_memory_mask,
    checked_position,
    checked_prompt,
)
from keras_transformer.layers.decoder.decoder_block import TransformerDecoderBlock
from keras_transformer.layers.stack import TransformerStack
from keras_transformer.layers.tensor import Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
class TransformerDecoder(TransformerStack):
    """Stack of decoder blocks, (B, T, D) and a memory (B, S, any width) -> (B, T, D).

    A stack that is first called without a memory is a decoder-only model. A pre-norm stack ends with one more
    layer normalization. Implicit masks hide the padding of target and memory.

    `start`, `prefill` and `step` decode one position at a time with a KV cache, each row at its own position;
    the decoder must be causal for that.

    Args:
        num_layers: Number of blocks.
        causal: Whether position t attends only to positions up to t.
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
        decoder = TransformerDecoder(num_layers=2, num_heads=4, inner_width=256)
        output = decoder(target, memory)  # trains: all positions at once
        cache = decoder.start(batch=8, length=64, memory=memory)
        output, cache = decoder.step(target[:, :1], position=0, cache=cache)  # decodes: one position
        ```
    """

    block_class = TransformerDecoderBlock

    def __init__(self, num_layers: int = 6, *, causal: bool = True, **kwargs: Any) -> None:
        super().__init__(num_layers, block_settings={"causal": causal}, **kwargs)
        self.causal = bool(causal)

    def build(self, inputs_shape: Shape, memory_shape: Shape | None = None) -> None:
        """Create the weights of all blocks."""
        self._build_blocks(inputs_shape, memory_shape)

    def call(
        self,
        inputs: Tensor,
        memory: Tensor | None = None,
        attention_mask: Tensor | None = None,
        memory_attention_mask: Tensor | None = None,
        return_attention_scores: bool = False,
        mask: Tensor | None = None,
        inputs_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Any:
        """Decode all positions at once.

        Keras fills in `mask` where the input is the only tensor passed, and the other two padding masks where
        it is not.

        Args:
            inputs: Target vectors (B, T, D).
            memory: Output of the encoder (B, S, any width), or None in a decoder-only model.
            attention_mask: (B, T, T) or (B, H, T, T), True where a target position may attend to another.
            memory_attention_mask: (B, T, S) or (B, H, T, S), True where a target position may attend to the
                memory.
            return_attention_scores: Whether to return the attention weights too.
            mask: Padding mask (B, T) of the target, True for real positions.
            inputs_mask: Padding mask (B, T) of the target, as `mask`.
            memory_mask: Padding mask (B, S) of the memory.

        Returns:
            The output (B, T, D). With return_attention_scores a tuple of it, a list of each block's
            self-attention weights (B, H, T, T) and, if there is a memory, a list of each block's
            cross-attention weights (B, H, T, S).
        """
        padding, bias = both(mask, inputs_mask), self._bias(ops.shape(inputs)[1])
        x, scores = inputs, []
        for block in self.blocks:
            x, *weights = block(
                x,
                memory,
                attention_mask=attention_mask,
                memory_attention_mask=memory_attention_mask,
                mask=padding,
                memory_mask=memory_mask,
                attention_bias=bias,
                return_attention_scores=True,
            )
            scores.append(weights)
        output = self._finish(x)
        return (output, *_by_kind(scores)) if return_attention_scores else output

    def start(
        self,
        batch: int | Tensor,
        length: int | Tensor,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> DecoderCache:
        """Create an empty cache for decoding with `step` and `prefill`.

        All leaves of the cache are tensors whose first dimension is the batch, so loops and tree maps can
        carry it.

        Args:
            batch: Number of rows.
            length: Number of positions that each row has room for.
            memory: Output of the encoder (B, S, any width), or None in a decoder-only model.
            memory_mask: (B, S), True where a source token is real; None if all are.

        Returns:
            The cache.

        Raises:
            ValueError: If the decoder is not built, is not causal, or the memory or its mask has another
                shape.
        """
        if not self.built:
            raise ValueError(f"{self.name} has no weights yet. Call, load or build it before start.")
        sizes = {"batch": batch, "length": length}
        check_whole(**{name: size for name, size in sizes.items() if not ops.is_tensor(size)})
        mask = checked_memory_mask(batch, memory, memory_mask)
        blocks = tuple(block.start(batch, length, memory) for block in self.blocks)
        return DecoderCache(blocks, () if mask is None else ops.expand_dims(mask, (1, 2)))

    def step(
        self, inputs: Tensor, position: Tensor, cache: DecoderCache, return_attention_scores: bool = False
    ) -> Any:
        """Decode one position of each row.

        Args:
            inputs: One vector of each row (B, 1, D).
            position: Index of the position. (B,) gives each row its own: a row never attends to what the
                cache holds past its position, so it may begin again on a used cache. () is one position for
                all rows, which is faster, but needs a new cache.
            cache: The cache that `start`, `prefill` or the last `step` returned.
            return_attention_scores: Whether to return the attention weights too.

        Returns:
            The output (B, 1, D) and the new cache; with return_attention_scores then also the lists of
            weights that `call` returns, (B, H, 1, T) and (B, H, 1, S).

        Raises:
            ValueError: If a row has several positions, a position is known to lie outside the cache or to be
                fractional, or the cache has another number of rows.
        """
        position = checked_position(inputs, position, cache, self.input_spec.axes[-1])
        bias = self._bias(cache.length, ops.reshape(position, (-1, 1)))
        return self._over_cache(
            inputs,
            cache,
            return_attention_scores,
            lambda block, x, cached, mask: block.step(x, cached, position, mask, bias),
        )

    def prefill(
        self,
        inputs: Tensor,
        cache: DecoderCache,
        lengths: Tensor | None = None,
        position: Tensor | int = 0,
        return_attention_scores: bool = False,
    ) -> Any:
        """Decode the prompt of each row in one pass, and fill the cache with it.

        The results are those of P calls of `step`. Each row continues with `step` at its `position +
        lengths`.

        Args:
            inputs: The vectors of the prompts (B, P, D), shorter ones padded at their end.
            cache: The cache of `start`, or one that already holds what comes before the prompts.
            lengths: Number of real positions of each prompt (B,); by default all, and 0 leaves the cache of a
                row unchanged. Padding is not written to the cache, and its outputs have no meaning.
            position: Index of the first position of each prompt, (B,) or one for all.
            return_attention_scores: Whether to return the attention weights too.

        Returns:
            The output (B, P, D) and the new cache; with return_attention_scores then also the lists of
            weights that `call` returns, (B, H, P, T) and (B, H, P, S).

        Raises:
            ValueError: If a prompt is known to begin or end outside the cache, a length is known to be
                outside 0 to P, or the cache has another number of rows.
        """
        first, count = checked_prompt(inputs, lengths, position, cache, self.input_spec.axes[-1])
        bias = self._bias(cache.length, first[:, None] + ops.arange(ops.shape(inputs)[1]))
        return self._over_cache(
            inputs,
            cache,
            return_attention_scores,
            lambda block, x, cached, mask: block.prefill(x, cached, first, count, mask, bias),
        )

    def _over_cache(
        self,
        inputs: Tensor,
        cache: DecoderCache,
        return_attention_scores: bool,
        advance: Callable[..., tuple[Tensor, BlockCache, list[Tensor]]],
    ) -> Any:
        x, blocks, scores = ops.cast(inputs, self.compute_dtype), [], []
        memory_mask = None if isinstance(cache.memory_mask, tuple) else cache.memory_mask
        for block, block_cache in zip(self.blocks, cache.blocks, strict=True):
            x, written, weights = advance(block, x, block_cache, memory_mask)
            blocks.append(written)
            scores.append(weights)
        output, cache = self._finish(x), cache._replace(blocks=tuple(blocks))
        return (output, cache, *_by_kind(scores)) if return_attention_scores else (output, cache)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), "causal": self.causal}


def _by_kind(scores: list[list[Tensor]]) -> list[list[Tensor]]:
    """Group the weights of the blocks into a list per kind: self-attention, then cross-attention."""
    return [list(kind) for kind in zip(*scores, strict=True)]
