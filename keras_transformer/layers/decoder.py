"""The Transformer decoder: all positions at once in training, one position at a time in decoding.

B batch, T target length, S source length, D width, H heads, K width of a head.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_transformer.layers.arguments import check_flags, check_whole, spawn
from keras_transformer.layers.attention.heads import check_rank
from keras_transformer.layers.attention.masks import boolean, both
from keras_transformer.layers.attention.multi_head import MultiHeadAttention
from keras_transformer.layers.block import TransformerBlock
from keras_transformer.layers.stack import TransformerStack
from keras_transformer.layers.tensor import Shape, Tensor, fits, whole

ANY = 2**31 - 1  # limit where a length is not known


class BlockCache(NamedTuple):
    """KV cache of one block.

    Attributes:
        key: Keys of the target so far (B, H, T, K).
        value: Values of the target so far (B, H, T, K).
        memory_key: Keys of the memory (B, H, S, K), which never change; empty in a decoder without memory.
        memory_value: Values of the memory (B, H, S, K); empty in a decoder without memory.
    """

    key: Tensor
    value: Tensor
    memory_key: Tensor = ()  # not None, so that every leaf is a tensor
    memory_value: Tensor = ()


class DecoderCache(NamedTuple):
    """KV cache of a decoder, passed from step to step.

    Attributes:
        blocks: Cache of each block.
        memory_mask: (B, 1, 1, S), True where a source token is real; empty where all are.
    """

    blocks: tuple[BlockCache, ...]
    memory_mask: Tensor = ()


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
        self.cross_attention = MultiHeadAttention(
            self.num_heads,
            self.attention_dropout,
            seed=spawn(self.seed, 4)[3],
            name="cross_attention",
            dtype=self.dtype_policy,
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
        shape = (batch, self.num_heads, length, self.self_attention.width // self.num_heads)
        empty = ops.zeros(shape, dtype=self.compute_dtype)
        if self.cross_attention is None:
            return BlockCache(empty, empty)
        return BlockCache(empty, empty, *self.cross_attention.keys_and_values(memory))

    def step(
        self, x: Tensor, cache: BlockCache, position: Tensor, memory_mask: Tensor | None
    ) -> tuple[Tensor, BlockCache, list[Tensor]]:
        """Decode one position of each row.

        Args:
            x: Vectors (B, 1, D).
            cache: Cache of this block.
            position: Index of the position in the cache, (B,) or () for all rows.
            memory_mask: (B, 1, 1, S), True where a source token is real, or None.

        Returns:
            The output (B, 1, D), the new cache, and a list of the weights: (B, H, 1, T), then with a memory
            (B, H, 1, S).
        """
        return self._over_cache(x, cache, memory_mask, self.self_attention.step, position)

    def prefill(
        self, x: Tensor, cache: BlockCache, position: Tensor, lengths: Tensor, memory_mask: Tensor | None
    ) -> tuple[Tensor, BlockCache, list[Tensor]]:
        """Decode several positions of each row at once.

        Args:
            x: Vectors (B, P, D), shorter rows padded at their end.
            cache: Cache of this block.
            position: Index of each row's first position in the cache (B,).
            lengths: Number of real positions of each row (B,).
            memory_mask: (B, 1, 1, S), True where a source token is real, or None.

        Returns:
            The output (B, P, D), the new cache, and a list of the weights: (B, H, P, T), then with a memory
            (B, H, P, S).
        """
        return self._over_cache(x, cache, memory_mask, self.self_attention.prefill, position, lengths)

    def _over_cache(
        self,
        x: Tensor,
        cache: BlockCache,
        memory_mask: Tensor | None,
        attend: Callable[..., tuple[Tensor, Tensor, Tensor, Tensor]],
        *where: Tensor,
    ) -> tuple[Tensor, BlockCache, list[Tensor]]:
        attended, key, value, scores = attend(
            self._enter(x, self.self_attention_norm), cache.key, cache.value, *where
        )
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
        padding = both(mask, inputs_mask)
        x, scores = inputs, []
        for block in self.blocks:
            x, *weights = block(
                x,
                memory,
                attention_mask=attention_mask,
                memory_attention_mask=memory_attention_mask,
                mask=padding,
                memory_mask=memory_mask,
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
        rows = None if ops.is_tensor(batch) else batch
        if memory is not None and not fits(memory.shape[:1], (rows,)):
            raise ValueError(f"the memory must have a row for each of {batch}; got {memory.shape[0]} rows.")
        if memory_mask is not None:
            memory_mask = boolean(memory_mask)
            if memory is None or not fits(memory_mask.shape, memory.shape[:2]):
                shape = None if memory is None else tuple(memory.shape)
                raise ValueError(
                    "memory_mask must have a value for each position of the memory, (batch, length); "
                    f"got shape {tuple(memory_mask.shape)} for a memory of shape {shape}."
                )
        blocks = tuple(block.start(batch, length, memory) for block in self.blocks)
        return DecoderCache(blocks, () if memory_mask is None else ops.expand_dims(memory_mask, (1, 2)))

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
        if len(inputs.shape) != 3 or inputs.shape[1] not in (1, None):
            raise ValueError(
                f"a step takes vectors of shape (batch, 1, width); got {tuple(inputs.shape)}. "
                "For several positions of each row at once use prefill."
            )
        position = _by_row("position", position, self._capacity(cache, inputs) - 1, cache)
        return self._over_cache(
            inputs,
            cache,
            return_attention_scores,
            lambda block, x, cached, mask: block.step(x, cached, position, mask),
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
        if len(inputs.shape) != 3:
            raise ValueError(f"a prefill takes vectors (batch, time, width); got {tuple(inputs.shape)}.")
        (rows, size), capacity = ops.shape(inputs)[:2], self._capacity(cache, inputs)
        lengths = _by_row("lengths", size if lengths is None else lengths, inputs.shape[1] or ANY, cache)
        position = _by_row("position", position, capacity, cache)
        _by_row("position + lengths", position + lengths, capacity, cache)
        first = ops.broadcast_to(position, (rows,))
        count = ops.broadcast_to(ops.minimum(lengths, size), (rows,))
        return self._over_cache(
            inputs,
            cache,
            return_attention_scores,
            lambda block, x, cached, mask: block.prefill(x, cached, first, count, mask),
        )

    def _capacity(self, cache: DecoderCache, inputs: Tensor) -> int:
        """Return the length of a cache, after checking that it has a row for each of the inputs."""
        rows, _, length, _ = cache.blocks[0].key.shape
        wanted = (rows, None, self.blocks[0].self_attention.width)
        if not fits(inputs.shape, wanted):
            raise ValueError(
                f"inputs must be (batch, time, width) = {wanted}, a row for each of the cache; "
                f"got {tuple(inputs.shape)}."
            )
        return ANY if length is None else length

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


def _by_row(name: str, values: Tensor, last: int, cache: DecoderCache) -> Tensor:
    """Return integers from 0 to `last`, one for all rows of a cache or one for each."""
    remedy = " Positions end at the length given to start, lengths at that of the prompts."
    numbers = ops.cast(whole(name, values, last + 1, remedy), "int32")
    rows = cache.blocks[0].key.shape[0]
    if len(numbers.shape) and not fits(numbers.shape, (rows,)):
        raise ValueError(
            f"{name} must have shape () for all rows, or (batch,) = ({rows},); got {tuple(numbers.shape)}."
        )
    return numbers
