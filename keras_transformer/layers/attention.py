"""Attention: a pure function to hold against the paper, and two layers that give it heads.

B batch, T target length, S source length, D width, H heads, K width of a head (D / H).
"""

import math
import string
from typing import Any

import keras
from keras import ops

from keras_transformer.layers.masks import both, heads_mask
from keras_transformer.layers.tensor import Shape, Tensor, traced_spec

# Finite, so that a row of nothing but masked scores stays a number: inf - inf is NaN.
MASKED_SCORE = -1e30


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """(..., T, K), (..., S, K), (..., S, V) -> (..., T, V), (..., T, S). mask True = may attend.

    softmax(query keyᵀ / √K) value, and the weights. A row that may attend to nothing gives zeros.
    """
    weights = attention_weights(query, key, mask)
    return ops.matmul(weights, value), weights


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    """(..., T, K), (..., S, K) -> (..., T, S): how much each position takes from each other one.

    The softmax is taken in float32 at least, whatever the inputs are.
    """
    dtype = keras.backend.result_type(query.dtype, float)
    # the query is scaled, not the scores: in float16 the unscaled product could overflow
    query = ops.cast(query, dtype) * ops.cast(1.0 / math.sqrt(query.shape[-1]), dtype)
    # not matmul with the key turned round: XLA would turn it round at every step of a decoder
    scores = ops.einsum(_scores_equation(query.shape, key.shape), query, key)
    scores = ops.cast(scores, keras.backend.result_type(dtype, "float32"))
    if mask is None:
        return ops.cast(_softmax(scores), dtype)
    mask = ops.cast(mask, "bool")
    weights = _softmax(ops.where(mask, scores, MASKED_SCORE))
    return ops.cast(ops.where(mask, weights, 0.0), dtype)


def _scores_equation(query_shape: Shape, key_shape: Shape) -> str:
    """Name every dimension where none has to be broadcast: ONNX converters do not read an ellipsis."""
    leading = tuple(query_shape[:-2])
    if leading != tuple(key_shape[:-2]):
        return "...tk,...sk->...ts"
    letters = string.ascii_uppercase[: len(leading)]
    return f"{letters}tk,{letters}sk->{letters}ts"


def _softmax(scores: Tensor) -> Tensor:
    # Keras warns of a softmax over a single score; a sentence of one token is no mistake
    return ops.exp(scores - scores) if scores.shape[-1] == 1 else ops.softmax(scores, axis=-1)


class _Attention(keras.layers.Layer):
    """What the two layers share: heads, dropout on the weights, and the projection back to the width."""

    def __init__(self, num_heads: int, dropout: float = 0.0, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if num_heads < 1:
            raise ValueError(f"num_heads must be at least 1; got {num_heads}.")
        self.num_heads = num_heads
        self.dropout = dropout
        self.seed = seed
        self.weights_dropout = keras.layers.Dropout(
            dropout, seed=seed, name="weights_dropout", dtype=self.dtype_policy
        )
        self.supports_masking = True

    def _build_output(self, query_shape: Shape) -> int:
        """Check the width, add the output projection, and give the width back."""
        self.width = _checked_width(query_shape, self.num_heads)
        self.output_projection = keras.layers.Dense(self.width, name="output", dtype=self.dtype_policy)
        self.output_projection.build((None, None, self.width))
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: self.width})
        return self.width

    def _projection(self, input_width: int | None, parts: int, name: str) -> keras.layers.Dense:
        """One matrix product for several projections, each with the spread that it would have alone."""
        fan_in = keras.initializers.VarianceScaling(1.0, mode="fan_in", distribution="uniform")
        layer = keras.layers.Dense(
            parts * self.width, kernel_initializer=fan_in, name=name, dtype=self.dtype_policy
        )
        layer.build((None, None, input_width))
        return layer

    def _split(self, projected: Tensor, parts: int) -> list[Tensor]:
        """(B, T, parts D) -> as many (B, H, T, K)."""
        head_width = self.width // self.num_heads
        shape = (_rows(projected), ops.shape(projected)[1], parts, self.num_heads, head_width)
        heads = ops.transpose(ops.reshape(projected, shape), (2, 0, 3, 1, 4))
        # unstack, not heads[0], heads[1]...: the gradient of a slice fills a tensor of zeros for each part
        return list(ops.unstack(heads, parts, axis=0))

    def _attend(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """(B, H, T, K), (B, H, S, K) twice -> (B, T, D), (B, H, T, S)."""
        weights = attention_weights(query, key, mask)
        context = ops.transpose(ops.matmul(self.weights_dropout(weights), value), (0, 2, 1, 3))
        shape = (_rows(context), ops.shape(context)[1], self.width)
        return self.output_projection(ops.reshape(context, shape)), weights

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        return traced_spec(self, *args, **kwargs)

    def get_config(self) -> dict[str, Any]:
        own = {"num_heads": self.num_heads, "dropout": self.dropout, "seed": self.seed}
        return {**super().get_config(), **own}


@keras.saving.register_keras_serializable(package="keras_transformer")
class MultiHeadAttention(_Attention):
    """Several heads of attention from a query (B, T, D) to a value (B, S, any width) -> (B, T, D).

    With the encoder's output as the value this is the decoder's cross-attention; keys and values are one
    fused projection of it. The implicit mask of the value hides its padding; attention_mask, (B, T, S) or
    (B, H, T, S), combines with it. The implicit mask of the query passes through to the output.
    """

    def build(self, query_shape: Shape, value_shape: Shape) -> None:
        width = self._build_output(query_shape)
        check_rank("value", value_shape)
        self.query_projection = self._projection(width, 1, "query")
        self.key_value_projection = self._projection(value_shape[-1], 2, "key_value")

    def call(
        self,
        query: Tensor,
        value: Tensor,
        attention_mask: Tensor | None = None,
        value_mask: Tensor | None = None,
        return_attention_scores: bool = False,
    ) -> Any:
        """The output, and with return_attention_scores also the weights (B, H, T, S)."""
        key, value = self.keys_and_values(value)
        scores_shape = (query.shape[0], self.num_heads, query.shape[1], key.shape[2])
        mask = heads_mask(attention_mask, value_mask, scores_shape)
        output, scores = self.look_up(query, key, value, mask)
        return (output, scores) if return_attention_scores else output

    def keys_and_values(self, value: Tensor) -> tuple[Tensor, Tensor]:
        """(B, S, any width) -> two of (B, H, S, K): computed once, however many steps look them up."""
        key, value = self._split(self.key_value_projection(value), 2)
        return key, value

    def look_up(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """(B, T, D), two of (B, H, S, K), a mask for (B, H, T, S) -> (B, T, D), (B, H, T, S)."""
        (query,) = self._split(self.query_projection(query), 1)
        return self._attend(query, key, value, mask)

    def compute_output_shape(self, query_shape: Shape, value_shape: Shape) -> Shape:
        return query_shape


@keras.saving.register_keras_serializable(package="keras_transformer")
class MultiHeadSelfAttention(_Attention):
    """Several heads of attention from a sequence to itself, (B, T, D) -> (B, T, D); one fused projection.

    The implicit mask hides padding from every query, and passes through to the output; attention_mask,
    (B, T, T) or (B, H, T, T), combines with it.
    """

    def build(self, inputs_shape: Shape) -> None:
        width = self._build_output(inputs_shape)
        self.query_key_value_projection = self._projection(width, 3, "query_key_value")

    def call(
        self,
        inputs: Tensor,
        attention_mask: Tensor | None = None,
        return_attention_scores: bool = False,
        mask: Tensor | None = None,
        inputs_mask: Tensor | None = None,
    ) -> Any:
        """The output, and with return_attention_scores also the weights (B, H, T, T).

        Keras fills in `mask` where the input is the only tensor passed, and `inputs_mask` where it is not.
        """
        query, key, value = self._split(self.query_key_value_projection(inputs), 3)
        scores_shape = (inputs.shape[0], self.num_heads, inputs.shape[1], inputs.shape[1])
        allowed = heads_mask(attention_mask, both(mask, inputs_mask), scores_shape)
        output, scores = self._attend(query, key, value, allowed)
        return (output, scores) if return_attention_scores else output

    def step(
        self, inputs: Tensor, key: Tensor, value: Tensor, position: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """One position of each row over its cache: (B, 1, D), two of (B, H, T, K) -> (B, 1, D), both caches
        with this position written, and the weights (B, H, 1, T).

        `position` (B,) is each row's own, or () that of all: then one slice is written.
        """
        query, new_key, new_value = self._split(self.query_key_value_projection(inputs), 3)
        slots = ops.arange(ops.shape(key)[2])
        if len(position.shape) == 0:
            where = (0, 0, position, 0)
            key, value = ops.slice_update(key, where, new_key), ops.slice_update(value, where, new_value)
            output, scores = self._attend(query, key, value, ops.less_equal(slots, position))
            return output, key, value, scores
        position = ops.expand_dims(position, 1)
        here = ops.expand_dims(ops.equal(slots, position), (1, 3))
        key, value = ops.where(here, new_key, key), ops.where(here, new_value, value)
        seen = ops.expand_dims(ops.less_equal(slots, position), (1, 2))
        # what is not seen has no weight, but not even nothing times NaN is nothing
        seen_value = ops.where(ops.swapaxes(seen, -1, -2), value, 0)
        output, scores = self._attend(query, key, seen_value, seen)
        return output, key, value, scores

    def compute_output_shape(self, inputs_shape: Shape) -> Shape:
        return inputs_shape


def _rows(x: Tensor) -> int:
    """The batch size, or -1: as a computed size, a converted ONNX graph would take it from another tensor."""
    return -1 if x.shape[0] is None else x.shape[0]


def check_rank(name: str, shape: Shape) -> None:
    """Refuse what is not (batch, time, width) with a known width."""
    if len(shape) != 3 or shape[-1] is None:
        raise ValueError(f"{name} must have shape (batch, time, width) with a known width; got {shape}.")


def _checked_width(shape: Shape, num_heads: int) -> int:
    """The width of a (batch, time, width) shape, divisible by num_heads."""
    check_rank("the input of attention", shape)
    width = shape[-1] or 0
    if width % num_heads:
        divisors = (heads for heads in range(1, width + 1) if width % heads == 0)
        nearest = min(divisors, key=lambda heads: abs(heads - num_heads))
        raise ValueError(
            f"width must be divisible by num_heads; got {width} and {num_heads}. Try num_heads={nearest}."
        )
    return width
