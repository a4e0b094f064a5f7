"""Attention masks. In every mask True means *may attend*; masks of this module combine with `&`.

B batch, T target length, S source length, H heads.
"""

import inspect
from typing import Any

import keras
from keras import ops
from keras.src.backend.common.symbolic_scope import in_symbolic_scope  # Keras exports no name for it

from keras_transformer.layers.arguments import check_whole
from keras_transformer.layers.tensor import Tensor, fits, known, traced_spec


def padding_mask(ids: Tensor, pad_id: int = 0) -> Tensor:
    """Mask the padding of a batch of token ids.

    Args:
        ids: Token ids (B, S).
        pad_id: Id of padding.

    Returns:
        Boolean mask (B, 1, S): every position may attend to every token that is not padding.

    Example:
        ```python
        mask = padding_mask(ids) & causal_mask(ids.shape[1])  # (B, S, S)
        ```
    """
    check_whole(pad_id=pad_id)
    return ops.expand_dims(ops.not_equal(ids, pad_id), axis=1)


def causal_mask(length: int | Tensor) -> Tensor:
    """Mask later positions.

    Args:
        length: Number of positions.

    Returns:
        Boolean mask (1, length, length): position t may attend to the positions up to and including t.

    Raises:
        ValueError: If length is None, as it is for a keras.Input of unknown length.
    """
    if length is None:
        raise ValueError(
            "causal_mask needs the length; got None. A decoder is causal by itself; otherwise give "
            "keras.Input a length, or make the mask inside a layer's call."
        )
    return causal_between(length, length)


def causal_between(target: int | Tensor, source: int | Tensor) -> Tensor:
    """Return a mask (1, target, source): position t may attend to source positions up to t."""
    queries, keys = ops.arange(target), ops.arange(source)
    return ops.greater_equal(ops.expand_dims(queries, (0, 2)), ops.expand_dims(keys, (0, 1)))


def boolean(mask: Tensor) -> Tensor:
    """Convert a mask, which may be a list, to booleans.

    Raises:
        ValueError: If the mask has numbers other than 0 and 1, as a mask that is added to the scores has, or
            floats whose values are not known yet.
    """
    mask = mask if hasattr(mask, "dtype") else ops.convert_to_tensor(mask)
    if keras.backend.standardize_dtype(mask.dtype) == "bool":
        return mask
    values = known(mask)
    if (
        values is None and keras.backend.is_float_dtype(mask.dtype) and not in_symbolic_scope()
    ):  # while Keras infers shapes, it passes floats for all tensors
        _refuse_floats(mask)
    if values is not None and not ((values == 0) | (values == 1)).all():
        other = values[(values != 0) & (values != 1)][0]
        raise ValueError(
            f"a mask is True (or 1) where a position may attend, False (or 0) where not; got {other}. "
            "A mask that is added to the scores, 0 where a position may attend, becomes one with: mask == 0."
        )
    return ops.cast(mask, "bool")


def masked_spec(layer: keras.layers.Layer, *args: Any, **kwargs: Any) -> Any:
    """Return the symbolic output of a layer's call, after checking that its masks are boolean."""
    for name, argument in inspect.signature(layer.call).bind(*args, **kwargs).arguments.items():
        if name.endswith("mask") and isinstance(argument, keras.KerasTensor):
            _refuse_floats(argument)
    return traced_spec(layer, *args, **kwargs)


def _refuse_floats(mask: Tensor) -> None:
    """Raise ValueError for a mask of floats whose values are not known."""
    if keras.backend.is_float_dtype(mask.dtype):
        dtype = keras.backend.standardize_dtype(mask.dtype)
        raise ValueError(
            f"a mask whose values are not known yet must be boolean, True where a position may attend; got "
            f'{dtype}. Declare it as keras.Input(..., dtype="bool"), or pass keras.ops.cast(mask, "bool") '
            "for a mask of 0 and 1, mask == 0 for one that is added to the scores."
        )


def both(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """Combine two masks: True where both are True; None allows all."""
    if first is None or first is second:
        return second
    if second is None:
        return first
    return ops.logical_and(boolean(first), boolean(second))


def heads_mask(attention_mask: Tensor | None, padding: Tensor | None, scores_shape: Tensor) -> Tensor | None:
    """Combine an attention mask with the padding of the keys, for scores of shape (B, H, T, S).

    Args:
        attention_mask: (B, T, S) or (B, H, T, S), each dimension its size or 1; None allows all.
        padding: (B, S), True for real positions; None allows all.
        scores_shape: Static shape of the scores.

    Returns:
        A mask that broadcasts to (B, H, T, S), or None.
    """
    if padding is not None:
        padding = boolean(padding)
        _check_padding(padding, scores_shape)
        padding = ops.expand_dims(padding, (1, 2))
    if attention_mask is not None:
        attention_mask = checked(boolean(attention_mask), scores_shape)
        if len(attention_mask.shape) == 3:
            attention_mask = ops.expand_dims(attention_mask, 1)
    return both(attention_mask, padding)


def checked(mask: Tensor, scores_shape: Tensor) -> Tensor:
    """Return the mask if it fits scores of shape (B, H, T, S); unknown lengths fit anything.

    Raises:
        ValueError: If the mask has another rank or another size.
    """
    batch, heads, target, source = scores_shape
    expected = (batch, heads, target, source) if len(mask.shape) == 4 else (batch, target, source)
    if len(mask.shape) not in (3, 4) or not fits(mask.shape, expected, broadcast=True):
        shown = f"(batch, target, source) = {(batch, target, source)}, each dimension its size or 1"
        raise ValueError(
            f"attention_mask must have shape {shown}, or the same with the {heads} heads after the batch; "
            f"got {tuple(mask.shape)}. A (batch, source) mask of real tokens is passed as mask[:, None, :]."
        )
    return mask


def _check_padding(mask: Tensor, scores_shape: Tensor) -> None:
    batch, _, _, source = scores_shape
    if len(mask.shape) != 2 or not fits(mask.shape, (batch, source), broadcast=True):
        raise ValueError(
            f"a padding mask must have shape (batch, length) = {(batch, source)}; got {tuple(mask.shape)}. "
            "A mask for each pair of positions is passed as attention_mask."
        )
