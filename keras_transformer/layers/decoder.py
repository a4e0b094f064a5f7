"""The decoder: a whole target at once in training, one position at a time in translation.

B batch, T target length, S source length, D width, H heads, K width of a head.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_transformer.layers.arguments import check_flags, check_whole, spawn
from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.block import TransformerBlock
from keras_transformer.layers.heads import check_rank
from keras_transformer.layers.masks import boolean, both
from keras_transformer.layers.stack import TransformerStack
from keras_transformer.layers.tensor import Shape, Tensor, fits, whole

ANY = 2**31 - 1  # of a length that is not known


class BlockCache(NamedTuple):
    """The keys and values of one block: its own target so far, and the memory, which never change."""

    key: Tensor  # (B, H, T, K)
    value: Tensor  # (B, H, T, K)
    memory_key: Tensor = ()  # (B, H, S, K); empty in a decoder without memory, so that every leaf is a tensor
    memory_value: Tensor = ()  # (B, H, S, K)


class DecoderCache(NamedTuple):
    """All that a decoder must remember between two steps."""

    blocks: tuple[BlockCache, ...]
    memory_mask: Tensor = ()  # (B, 1, 1, S), True where a source token is real; empty where all are


@keras.saving.register_keras_serializable(package="keras_transformer")
class TransformerDecoderBlock(TransformerBlock):
    """Self-attention, attention to the memory, and a feed-forward network, (B, T, D) -> (B, T, D).

    Causal unless causal=False. Called without a memory it has no cross-attention, now or later: a block of
    a decoder-only model. Implicit masks hide the padding of target and memory; attention_mask (B, T, T)
    and memory_attention_mask (B, T, S), or either with heads, combine with them.
    """

    def __init__(self, *, causal: bool = True, **kwargs: Any) -> None:
        check_flags(causal=causal)
        super().__init__(**kwargs)
        self.causal = bool(causal)
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
        """An empty cache for `length` positions of each row, with the memory's keys and values computed."""
        if not self.causal:
            raise ValueError(
                "a decoder with causal=False has no cache: each position attends to later ones too, so that "
                "step and prefill would give something else than the whole sequence. Call the decoder with "
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
        """One position of each row, (B, 1, D) -> (B, 1, D), the cache with it, and the weights as in call."""
        return self._over_cache(x, cache, memory_mask, self.self_attention.step, position)

    def prefill(
        self, x: Tensor, cache: BlockCache, position: Tensor, lengths: Tensor, memory_mask: Tensor | None
    ) -> tuple[Tensor, BlockCache, list[Tensor]]:
        """Several positions of each row, (B, P, D) -> (B, P, D), the cache and the weights as in step."""
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

    `start` and `step` decode one position at a time, each row at a position of its own, in a causal decoder.
    """

    block_class = TransformerDecoderBlock

    def __init__(self, num_layers: int = 6, *, causal: bool = True, **kwargs: Any) -> None:
        super().__init__(num_layers, block_settings={"causal": causal}, **kwargs)
        self.causal = bool(causal)

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
        """A cache for `length` steps of `batch` rows; memory (B, S, any width), memory_mask (B, S).

        All its leaves are tensors whose first dimension is the batch: loops and tree maps take it.

        Raises:
            ValueError: If the decoder has no weights yet, is not causal, or the memory or its mask
                has another shape.
        """
        if not self.built:
            raise ValueError(
                f"{self.name} has no weights yet: call it once, load it, or build it, then start."
            )
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
        """Decode one position of each row: (B, 1, D) and where it stands -> (B, 1, D) and the new cache.

        Args:
            inputs: One vector of each row (B, 1, D).
            position: (B,) gives each row its own: what a cache holds past it is never looked at, so a row may
                begin again on a used cache. () is one for all rows, which is faster; their cache must be new.
            cache: The cache of `start`, `prefill` or the step before.
            return_attention_scores: Whether to return the weights too, (B, H, 1, T) and (B, H, 1, S) in lists
                as in `call`.

        Raises:
            ValueError: If there are several positions of a row, one is known to lie outside the cache or
                to be fractional, or the cache has other rows.
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
        """Decode a prompt of each row in one pass: (B, P, D) -> (B, P, D) and the cache filled with them.

        What P steps give, at once. A row goes on with `step` at its `position + lengths`.

        Args:
            inputs: The vectors of the prompts (B, P, D), shorter ones padded at their end.
            cache: The cache of `start`, or one that holds what comes before the prompts.
            lengths: How many positions of each prompt are real (B,); by default all, 0 leaves a row's cache
                as it is. Padding is not written to the cache, and its outputs mean nothing.
            position: Where each prompt begins, (B,) or one for all.
            return_attention_scores: Whether to return the weights too, (B, H, P, T) and (B, H, P, S) in lists
                as in `call`.

        Raises:
            ValueError: If a prompt is known to begin or end outside the cache, a length to be none of 0 to P,
                or the cache has other rows.
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
        """The length of a cache, which has a row for each of the inputs."""
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
        return {**super().get_config(), "causal": self.causal}


def _by_kind(scores: list[list[Tensor]]) -> list[list[Tensor]]:
    """The weights of each block -> a list of all blocks' own, and with a memory one of those for it."""
    return [list(kind) for kind in zip(*scores, strict=True)]


def _by_row(name: str, values: Tensor, last: int, cache: DecoderCache) -> Tensor:
    """Return one number for all rows of a cache, or one for each, as integers of 0 to `last`."""
    remedy = " Positions end at the length given to start, lengths at that of the prompts."
    numbers = ops.cast(whole(name, values, last + 1, remedy), "int32")
    rows = cache.blocks[0].key.shape[0]
    if len(numbers.shape) and not fits(numbers.shape, (rows,)):
        raise ValueError(
            f"{name} must have shape () for all rows, or (batch,) = ({rows},); got {tuple(numbers.shape)}."
        )
    return numbers
