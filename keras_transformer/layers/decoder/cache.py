"""The KV cache of a decoder, and the checks of what is decoded with it.

B batch, T target length, S source length, D width, H heads, G heads of keys and values, K width of a head.
"""

from typing import Any, NamedTuple

from keras import ops

from keras_transformer.layers.attention.masks import boolean
from keras_transformer.layers.tensor import Tensor, fits, whole

ANY = 2**31 - 1  # limit where a length is not known


class BlockCache(NamedTuple):
    """KV cache of one block.

    Attributes:
        key: Keys of the target so far (B, G, T, K).
        value: Values of the target so far (B, G, T, K).
        memory_key: Keys of the memory (B, G, S, K), which never change; empty in a decoder without memory.
        memory_value: Values of the memory (B, G, S, K); empty in a decoder without memory.
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

    @property
    def length(self) -> int | Tensor:
        """Number of positions that each row has room for."""
        return ops.shape(self.blocks[0].key)[2]


def checked_memory_mask(
    batch: int | Tensor, memory: Tensor | None, memory_mask: Tensor | None
) -> Tensor | None:
    """Return a memory's mask (B, S) as booleans.

    Raises:
        ValueError: If the memory has another number of rows, or the mask another shape.
    """
    rows = None if ops.is_tensor(batch) else batch
    if memory is not None and not fits(memory.shape[:1], (rows,)):
        raise ValueError(f"the memory must have a row for each of {batch}; got {memory.shape[0]} rows.")
    if memory_mask is None:
        return None
    memory_mask = boolean(memory_mask)
    if memory is None or not fits(memory_mask.shape, memory.shape[:2]):
        shape = None if memory is None else tuple(memory.shape)
        raise ValueError(
            "memory_mask must have a value for each position of the memory, (batch, length); "
            f"got shape {tuple(memory_mask.shape)} for a memory of shape {shape}."
        )
    return memory_mask


def checked_position(inputs: Tensor, position: Any, cache: DecoderCache, width: int) -> Tensor:
    """Return the position of a step over vectors (B, 1, D) as an integer, () or (B,).

    Raises:
        ValueError: If the vectors have another shape, or a position is known to be outside the cache.
    """
    if len(inputs.shape) != 3 or inputs.shape[1] not in (1, None):
        raise ValueError(
            f"a step takes vectors of shape (batch, 1, width); got {tuple(inputs.shape)}. "
            "For several positions of each row at once use prefill."
        )
    return _by_row("position", position, _capacity(cache, inputs, width) - 1, cache)


def checked_prompt(
    inputs: Tensor, lengths: Any, position: Any, cache: DecoderCache, width: int
) -> tuple[Tensor, Tensor]:
    """Return the first position and the length of each prompt (B, P, D), both (B,).

    Raises:
        ValueError: If the vectors have another shape, or a prompt is known to be outside the cache.
    """
    if len(inputs.shape) != 3:
        raise ValueError(f"a prefill takes vectors (batch, time, width); got {tuple(inputs.shape)}.")
    (rows, size), capacity = ops.shape(inputs)[:2], _capacity(cache, inputs, width)
    lengths = _by_row("lengths", size if lengths is None else lengths, inputs.shape[1] or ANY, cache)
    position = _by_row("position", position, capacity, cache)
    _by_row("position + lengths", position + lengths, capacity, cache)
    return ops.broadcast_to(position, (rows,)), ops.broadcast_to(ops.minimum(lengths, size), (rows,))


def _capacity(cache: DecoderCache, inputs: Tensor, width: int) -> int:
    """Return the length of a cache, after checking that it has a row for each of the inputs (B, T, D)."""
    rows, _, length, _ = cache.blocks[0].key.shape
    wanted = (rows, None, width)
    if not fits(inputs.shape, wanted):
        raise ValueError(
            f"inputs must be (batch, time, width) = {wanted}, a row for each of the cache; "
            f"got {tuple(inputs.shape)}."
        )
    return ANY if length is None else length


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
