"""Attention masks. In every mask True means *may attend*; masks of this module combine with `&`.

B batch, T target length, S source length, H heads.
"""

from keras import ops

from keras_transformer.layers.tensor import Tensor


def padding_mask(ids: Tensor, pad_id: int = 0) -> Tensor:
    """(B, S) token ids -> (B, 1, S): every position may attend to all that is not padding."""
    return ops.expand_dims(ops.not_equal(ids, pad_id), axis=1)


def causal_mask(length: int | Tensor) -> Tensor:
    """-> (1, length, length): position t may attend to the positions up to and including t."""
    if length is None:
        raise ValueError(
            "causal_mask needs the length; got None. A decoder is causal by itself; otherwise give "
            "keras.Input a length, or make the mask inside a layer's call."
        )
    positions = ops.arange(length)
    return ops.greater_equal(ops.expand_dims(positions, (0, 2)), ops.expand_dims(positions, (0, 1)))


def both(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """May attend where both masks allow it; None allows all."""
    if first is None or first is second:
        return second
    if second is None:
        return first
    return ops.logical_and(ops.cast(first, "bool"), ops.cast(second, "bool"))


def heads_mask(attention_mask: Tensor | None, padding: Tensor | None, scores_shape: Tensor) -> Tensor | None:
    """Combine an attention mask with the padding of the keys, ready for scores of shape (B, H, T, S).

    attention_mask (B, T, S) or (B, H, T, S), each dimension its size or 1; padding (B, S). None allows all.
    """
    if padding is not None:
        _check_padding(padding, scores_shape)
        padding = ops.expand_dims(padding, (1, 2))
    if attention_mask is not None:
        attention_mask = checked(attention_mask, scores_shape)
        if len(attention_mask.shape) == 3:
            attention_mask = ops.expand_dims(attention_mask, 1)
    return both(attention_mask, padding)


def checked(mask: Tensor, scores_shape: Tensor) -> Tensor:
    """The mask, if it fits scores of shape (B, H, T, S); lengths that are not known yet fit anything."""
    batch, heads, target, source = scores_shape
    expected = (batch, heads, target, source) if len(mask.shape) == 4 else (batch, target, source)
    fits = len(mask.shape) in (3, 4) and all(
        size in (1, None) or wanted is None or size == wanted
        for size, wanted in zip(mask.shape, expected, strict=True)
    )
    if not fits:
        shown = f"(batch, target, source) = {(batch, target, source)}, each dimension its size or 1"
        raise ValueError(
            f"attention_mask must have shape {shown}, or the same with the {heads} heads after the batch; "
            f"got {tuple(mask.shape)}. A (batch, source) mask of real tokens is passed as mask[:, None, :]."
        )
    return mask


def _check_padding(mask: Tensor, scores_shape: Tensor) -> None:
    batch, _, _, source = scores_shape
    fits = len(mask.shape) == 2 and all(
        size in (1, None) or wanted is None or size == wanted
        for size, wanted in zip(mask.shape, (batch, source), strict=True)
    )
    if not fits:
        raise ValueError(
            f"a padding mask must have shape (batch, length) = {(batch, source)}; got {tuple(mask.shape)}. "
            "A mask for each pair of positions is passed as attention_mask."
        )
