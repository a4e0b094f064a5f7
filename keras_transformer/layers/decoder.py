"""The decoder: a whole target at once in training, one position at a time in translation.

B batch, T target length, S source length, D width, H heads, K width of a head.
"""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_transformer.layers.attention import MultiHeadAttention, check_rank
from keras_transformer.layers.block import TransformerBlock
from keras_transformer.layers.masks import both, causal_mask, checked
from keras_transformer.layers.seeds import spawn
from keras_transformer.layers.stack import TransformerStack
from keras_transformer.layers.tensor import Shape, Tensor


class BlockCache(NamedTuple):
    """The keys and values of one block: its own target so far, and the memory, which never change."""

    key: Tensor  # (B, H, T, K)
    value: Tensor  # (B, H, T, K)
    memory_key: Tensor | None  # (B, H, S, K); None in a decoder without memory
    memory_value: Tensor | None  # (B, H, S, K)


class DecoderCache(NamedTuple):
    """All that a decoder must remember between two steps."""

    blocks: tuple[BlockCache, ...]
    memory_mask: Tensor | None  # (B, 1, 1, S), True where a source token is real


@keras.saving.register_keras_serializable(package="keras_transformer")
class TransformerDecoderBlock(TransformerBlock):
    """Self-attention, attention to the memory, and a feed-forward network, (B, T, D) -> (B, T, D).

    Causal unless causal=False. Called without a memory it has no cross-attention, now or later: a block of
    a decoder-only model. Implicit masks hide the padding of target and memory; attention_mask (B, T, T)
    and memory_attention_mask (B, T, S), or either with heads, combine with them.
    """

    def __init__(self, *, causal: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.causal = causal
        self.cross_attention: MultiHeadAttention | None = None

    def build(self, inputs_shape: Shape, memory_shape: Shape | None = None) -> None:
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
        """The output, and with return_attention_scores also the weights (B, H, T, T) and (B, H, T, S).

        The latter only where there is a memory.
        """
        self._check_memory(memory)
        if self.causal:
            attention_mask = _causal_too(attention_mask, inputs, self.num_heads)
        attended, scores = self.self_attention(
            self._enter(inputs, self.self_attention_norm),
            attention_mask=attention_mask,
            mask=both(mask, inputs_mask),
            return_attention_scores=True,
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
        """An empty cache for `length` positions of each row, with the memory's keys and values computed."""
        self._check_memory(memory)
        shape = (batch, self.num_heads, length, self.self_attention.width // self.num_heads)
        empty = ops.zeros(shape, dtype=self.compute_dtype)
        if self.cross_attention is None:
            return BlockCache(empty, empty, None, None)
        return BlockCache(empty, empty, *self.cross_attention.keys_and_values(memory))

    def step(
        self, x: Tensor, cache: BlockCache, position: Tensor, memory_mask: Tensor | None
    ) -> tuple[Tensor, BlockCache, list[Tensor]]:
        """One position of each row, (B, 1, D) -> (B, 1, D), the cache with it, and the weights as in call."""
        attended, key, value, scores = self.self_attention.step(
            self._enter(x, self.self_attention_norm), cache.key, cache.value, position
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
                f"{self.name} was built {built} a memory and is called {called} one. A decoder has "
                "cross-attention or has it not: pass the memory in every call, or in none."
            )

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "causal": self.causal}


@keras.saving.register_keras_serializable(package="keras_transformer")
class TransformerDecoder(TransformerStack):
    """num_layers decoder blocks, (B, T, D) and a memory (B, S, any width) -> (B, T, D).

    Causal unless causal=False; without a memory, a decoder-only stack. Pre-norm ends with one more layer
    normalisation. Masks as in TransformerDecoderBlock.

    `start` and `step` decode one position at a time, each row at a position of its own.
    """

    block_class = TransformerDecoderBlock

    def __init__(self, num_layers: int = 6, *, causal: bool = True, **kwargs: Any) -> None:
        super().__init__(num_layers, block_settings={"causal": causal}, **kwargs)
        self.causal = causal

    def build(self, inputs_shape: Shape, memory_shape: Shape | None = None) -> None:
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
        """The output, and with return_attention_scores also the weights of each block, in a list for its
        own target and, where there is a memory, in one for the memory.
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
        """A cache for `length` steps of `batch` rows; memory (B, S, any width), memory_mask (B, S)."""
        if not self.built:
            raise ValueError(
                f"{self.name} has no weights yet: call it once, load it, or build it, then start."
            )
        blocks = tuple(block.start(batch, length, memory) for block in self.blocks)
        return DecoderCache(blocks, None if memory_mask is None else ops.expand_dims(memory_mask, (1, 2)))

    def step(
        self, inputs: Tensor, position: Tensor, cache: DecoderCache, return_attention_scores: bool = False
    ) -> Any:
        """One position of each row: (B, 1, D) and where it stands -> (B, 1, D) and the new cache.

        `position` (B,) gives each row its own: what a cache holds past it is never looked at, so a row may
        begin again on a used cache. () is one for all rows, which is faster; their cache must be new. A
        position must be below the cache's length, which no graph can tell.

        With return_attention_scores also the weights as in `call`, (B, H, 1, T) and (B, H, 1, S).
        """
        if len(inputs.shape) != 3:
            raise ValueError(f"a step takes vectors of shape (batch, 1, width); got {tuple(inputs.shape)}.")
        position = ops.convert_to_tensor(position)
        x, blocks, scores = ops.cast(inputs, self.compute_dtype), [], []
        for block, block_cache in zip(self.blocks, cache.blocks, strict=True):
            x, written, weights = block.step(x, block_cache, position, cache.memory_mask)
            blocks.append(written)
            scores.append(weights)
        output, cache = self._finish(x), cache._replace(blocks=tuple(blocks))
        return (output, cache, *_by_kind(scores)) if return_attention_scores else (output, cache)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "causal": self.causal}


def _by_kind(scores: list[list[Tensor]]) -> list[list[Tensor]]:
    """The weights of each block -> a list of all blocks' own, and with a memory one of those for it."""
    return [list(kind) for kind in zip(*scores, strict=True)]


def _causal_too(attention_mask: Tensor | None, inputs: Tensor, num_heads: int) -> Tensor:
    """The causal mask, and in it what attention_mask, (B, T, T) or (B, H, T, T), allows."""
    causal = causal_mask(ops.shape(inputs)[1])
    if attention_mask is None:
        return causal
    batch, length = inputs.shape[:2]
    attention_mask = checked(attention_mask, (batch, num_heads, length, length))
    return both(ops.expand_dims(causal, 1) if len(attention_mask.shape) == 4 else causal, attention_mask)
