"""Scaled dot-product attention as pure functions that mirror the equations of the paper.

T target length, S source length, K width of a query and a key, V width of a value.
"""

import math
import string

import keras
from keras import ops

from keras_transformer.layers.attention.masks import boolean
from keras_transformer.layers.tensor import Shape, Tensor, fits

# Finite, so that a row of masked scores alone does not become NaN: inf - inf is NaN.
MASKED_SCORE = -1e30


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Compute softmax(query keyᵀ / √K) value.

    Args:
        query: Queries (..., T, K).
        key: Keys (..., S, K).
        value: Values (..., S, V).
        mask: Mask that broadcasts to (..., T, S), True where a position may attend; None allows all.

    Returns:
        The output (..., T, V) and the attention weights (..., T, S). A row that may attend to nothing is all
        zeros.

    Raises:
        ValueError: If the shapes do not fit, or the mask is not boolean.

    Example:
        ```python
        output, weights = scaled_dot_product_attention(query, key, value, mask=causal_mask(10))
        ```
    """
    shapes = {"query": query.shape, "key": key.shape, "value": value.shape}
    if not fits(key.shape[-1:], query.shape[-1:]) or not fits(value.shape[-2:-1], key.shape[-2:-1]):
        shown = ", ".join(f"{name} {tuple(shape)}" for name, shape in shapes.items())
        raise ValueError(
            f"query and key must have the same width, key and value the same length; got {shown}."
        )
    dtype = keras.backend.result_type(query.dtype, float)
    weights = masked_softmax(attention_scores(query, key), mask, dtype)
    return ops.matmul(weights, value), weights


def attention_scores(query: Tensor, key: Tensor, scale: float | None = None) -> Tensor:
    """Compute scaled products, (..., T, K), (..., S, K) -> (..., T, S), in float32 at least.

    The scale is 1 / √K unless given.
    """
    dtype = keras.backend.result_type(query.dtype, float)
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    # the query is scaled, not the scores: in float16 the unscaled product could overflow
    query = ops.cast(query, dtype) * ops.cast(scale, dtype)
    # not matmul with the transposed key: XLA would transpose it at every step of a decoder
    scores = ops.einsum(_scores_equation(query.shape, key.shape), query, key)
    return ops.cast(scores, keras.backend.result_type(dtype, "float32"))


def masked_softmax(scores: Tensor, mask: Tensor | None, dtype: str) -> Tensor:
    """Compute the attention weights (..., T, S) of scores, with zeros where the mask is False.

    Raises:
        ValueError: If the mask is not boolean, or does not fit the weights.
    """
    if mask is None:
        return ops.cast(_softmax(scores), dtype)
    mask = boolean(mask)
    if not fits(mask.shape, scores.shape, broadcast=True):
        raise ValueError(
            f"the mask must have the shape of the weights, {tuple(scores.shape)}, or broadcast to it; "
            f"got {tuple(mask.shape)}."
        )
    weights = _softmax(ops.where(mask, scores, MASKED_SCORE))
    return ops.cast(ops.where(mask, weights, 0.0), dtype)


def _scores_equation(query_shape: Shape, key_shape: Shape) -> str:
    """Name every dimension where none has to be broadcast: ONNX converters cannot read an ellipsis."""
    leading = tuple(query_shape[:-2])
    if leading != tuple(key_shape[:-2]):
        return "...tk,...sk->...ts"
    letters = string.ascii_uppercase[: len(leading)]
    return f"{letters}tk,{letters}sk->{letters}ts"


def _softmax(scores: Tensor) -> Tensor:
    # Keras warns about a softmax over a single score, but a sentence may have one token
    return ops.exp(scores - scores) if scores.shape[-1] == 1 else ops.softmax(scores, axis=-1)
