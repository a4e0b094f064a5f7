"""One block of the decoder.

B batch, T target length, S source length, D width, H heads, K width of a head.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.arguments import check_flags, spawn
from keras_transformer.layers.attention.heads import check_rank
from keras_transformer.layers.attention.masks import both
from keras_transformer.layers.attention.multi_head import MultiHeadAttention
from keras_transformer.layers.block import TransformerBlock
from keras_transformer.layers.decoder.cache import BlockCache
from keras_transformer.layers.tensor import Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
class TransformerDecoderBlock(TransformerBlock):
    """Decoder block: self-attention, attention to the memory, and a feed-forward network.

    (B, T, D) and a memory (B, S, any width) -> (B, T, D).

    A block that is first called without a memory has no cross-attention: it is a block of a decoder-only
    model, and every later call must omit the memory too. Implicit masks hide the padding of target and
    memory.

    Args:
        causal: Whether position t attends only to positions up to t. Only a causal block can decode step by
            step.
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
        y = TransformerDecoderBlock(num_heads=4, inner_width=256)(y, memory)
        ```
    """

    def __init__(self, *, causal: bool = True, **kwargs: Any) -> None:
        check_flags(causal=causal)
        super().__init__(**kwargs)
        self.causal = bool(causal)
        self.cross_attention: MultiHeadAttention | None = None

    def build(self, inputs_shape: Shape, memory_shape: Shape | None = None) -> None:
        """Create the sublayers, and the cross-attention if there is a memory."""
        self._build_common(inputs_shape)
        if memory_shape is None:
            return
        check_rank("memory", memory_shape)
        options = {name: value for name, value in self._attention_arguments().items() if name != "rotary"}
        self.cross_attention = MultiHeadAttention(
            name="cross_attention", seed=spawn(self.seed, 4)[3], **options
        )
        self.cross_attention.build(inputs_shape, memory_shape)
        self.cross_attention_norm = self._norm("cross_attention_norm")
        self.cross_attention_norm.build(inputs_shape)

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
        attention_bias: Tensor | None = None,
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
            attention_bias: Values that are added to the scores of the self-attention (B, H, T, T).

        Returns:
            The output (B, T, D). With return_attention_scores a tuple of it, the weights of the
            self-attention (B, H, T, T) and, if there is a memory, those of the cross-attention (B, H, T, S).

        Raises:
            ValueError: If the block was built with a memory and is called without one, or the reverse, or a
                mask does not fit.
        """
        self._check_memory(memory)
        attended, scores = self.self_attention(
            self._enter(inputs, self.self_attention_norm),
            attention_mask=attention_mask,
            mask=both(mask, inputs_mask),
            attention_bias=attention_bias,
            return_attention_scores=True,
            use_causal_mask=self.causal,
        )
        x = self._leave(inputs, attended, self.self_attention_norm)
        all_scores = [scores]
        if self.cross_attention is not None:
            attended, memory_scores = self.cross_attention(
                self._enter(x, self.cross_attention_norm),
                memory,
                attention_mask=memory_attention_mask,
                value_mask=memory_mask,
                return_attention_scores=True,
            )
            x = self._leave(x, attended, self.cross_attention_norm)
            all_scores.append(memory_scores)
        output = self._feed(x)
        return (output, *all_scores) if return_attention_scores else output

    def start(self, batch: int | Tensor, length: int | Tensor, memory: Tensor | None) -> BlockCache:
        """Create an empty cache, with the keys and values of the memory already computed.

        Args:
            batch: Number of rows.
            length: Number of positions that each row has room for.
            memory: Output of the encoder (B, S, any width), or None in a decoder-only model.

        Returns:
            The cache for `step` and `prefill`.

        Raises:
            ValueError: If the block is not causal, or has cross-attention and gets no memory, or the reverse.
        """
        if not self.causal:
            raise ValueError(
                "a decoder with causal=False has no cache: each position attends to later ones too, so "
                "step and prefill would not give the results of the whole sequence. Call the decoder with "
                "the whole sequence, or create it with causal=True."
            )
        self._check_memory(memory)
        _, key, value = (
            ops.zeros((batch, part.heads, length, part.width), dtype=self.compute_dtype)
            for part in self.self_attention.parts
        )
        if self.cross_attention is None:
            return BlockCache(key, value)
        return BlockCache(key, value, *self.cross_attention.keys_and_values(memory))

    def step(
        self,
        x: Tensor,
        cache: BlockCache,
        position: Tensor,
        memory_mask: Tensor | None,
        attention_bias: Tensor | None = None,
    ) -> tuple[Tensor, BlockCache, list[Tensor]]:
        """Decode one position of each row.

        Args:
            x: Vectors (B, 1, D).
            cache: Cache of this block.
            position: Index of the position in the cache, (B,) or () for all rows.
            memory_mask: (B, 1, 1, S), True where a source token is real, or None.
            attention_bias: Values that are added to the scores of the self-attention, or None.

        Returns:
            The output (B, 1, D), the new cache, and a list of the weights: (B, H, 1, T), then with a memory
            (B, H, 1, S).
        """
        attended = self.self_attention.step(self._normal(x), cache.key, cache.value, position, attention_bias)
        return self._over_cache(x, cache, memory_mask, attended)

    def prefill(
        self,
        x: Tensor,
        cache: BlockCache,
        position: Tensor,
        lengths: Tensor,
        memory_mask: Tensor | None,
        attention_bias: Tensor | None = None,
    ) -> tuple[Tensor, BlockCache, list[Tensor]]:
        """Decode several positions of each row at once.

        Args:
            x: Vectors (B, P, D), shorter rows padded at their end.
            cache: Cache of this block.
            position: Index of each row's first position in the cache (B,).
            lengths: Number of real positions of each row (B,).
            memory_mask: (B, 1, 1, S), True where a source token is real, or None.
            attention_bias: Values that are added to the scores of the self-attention, or None.

        Returns:
            The output (B, P, D), the new cache, and a list of the weights: (B, H, P, T), then with a memory
            (B, H, P, S).
        """
        where = (position, lengths, attention_bias)
        attended = self.self_attention.prefill(self._normal(x), cache.key, cache.value, *where)
        return self._over_cache(x, cache, memory_mask, attended)

    def _normal(self, x: Tensor) -> Tensor:
        return self._enter(x, self.self_attention_norm)

    def _over_cache(
        self,
        x: Tensor,
        cache: BlockCache,
        memory_mask: Tensor | None,
        self_attended: tuple[Tensor, Tensor, Tensor, Tensor],
    ) -> tuple[Tensor, BlockCache, list[Tensor]]:
        """Do what follows the self-attention of `step` and `prefill`."""
        attended, key, value, scores = self_attended
        x = self._leave(x, attended, self.self_attention_norm)
        all_scores = [scores]
        if self.cross_attention is not None:
            attended, memory_scores = self.cross_attention.look_up(
                self._enter(x, self.cross_attention_norm), cache.memory_key, cache.memory_value, memory_mask
            )
            x = self._leave(x, attended, self.cross_attention_norm)
            all_scores.append(memory_scores)
        return self._feed(x), cache._replace(key=key, value=value), all_scores

    def _check_memory(self, memory: Tensor | None) -> None:
        if (memory is None) != (self.cross_attention is None):
            built, called = ("without", "with") if self.cross_attention is None else ("with", "without")
            raise ValueError(
                f"{self.name} was built {built} a memory and is called {called} one. Its first call decides "
                "whether a decoder has cross-attention: pass the memory in every call, or in none."
            )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), "causal": self.causal}
