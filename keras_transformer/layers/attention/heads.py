"""Base class of the attention layers: heads, and the projections into and out of them.

B batch, T target length, S source length, D width, H heads, G heads of keys and values (H unless given),
K width of a head (D / H unless given).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_transformer.layers.arguments import check_flags, check_rates, check_scale, check_sizes, serialized
from keras_transformer.layers.attention.dot_product import attention_scores, masked_softmax
from keras_transformer.layers.attention.masks import masked_spec
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.quantization import Quantizable
from keras_transformer.layers.rematerialization import Rematerializable
from keras_transformer.layers.tensor import Shape, Tensor


class Part(NamedTuple):
    """One of the results of a fused projection: its number of heads, and their width."""

    heads: int
    width: int


class Attention(Rematerializable, Quantizable):
    """Base class of the attention layers, with the heads, the dropout and the output projection.

    The arguments have the names that keras.layers.MultiHeadAttention gives them.

    Args:
        num_heads: Number of heads.
        dropout: Share of the attention weights to drop in training.
        seed: Seed of the dropout.
        key_dim: Width of a head's queries and keys; by default the width of the input / num_heads.
        value_dim: Width of a head's values; by default that of its keys.
        use_bias: Whether the projections have biases.
        kernel_initializer: Initializer of each projection's kernel; by default Glorot uniform.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of the kernels.
        bias_regularizer: Regularizer of the biases.
        kernel_constraint: Constraint of the kernels.
        bias_constraint: Constraint of the biases.
        num_key_value_heads: Number of heads of keys and values, G; it divides num_heads. By default
            num_heads.
        score_scale: Factor of the scores; by default 1 / √key_dim.
        **kwargs: Arguments of keras.layers.Layer.
    """

    def __init__(
        self,
        num_heads: int,
        dropout: float = 0.0,
        seed: int | None = None,
        *,
        key_dim: int | None = None,
        value_dim: int | None = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        num_key_value_heads: int | None = None,
        score_scale: float | None = None,
        **kwargs: Any,
    ) -> None:
        given = {"key_dim": key_dim, "value_dim": value_dim, "num_key_value_heads": num_key_value_heads}
        check_sizes(num_heads=num_heads, **{name: size for name, size in given.items() if size is not None})
        check_rates(dropout=dropout)
        check_flags(use_bias=use_bias)
        check_scale(score_scale=score_scale)
        if num_heads % (num_key_value_heads or 1):
            raise ValueError(
                f"num_key_value_heads must divide num_heads, {num_heads}; got {num_key_value_heads}."
            )
        super().__init__(**kwargs)
        self.num_heads = int(num_heads)
        self.dropout = dropout
        self.seed = seed
        self.key_dim = key_dim and int(key_dim)
        self.value_dim = value_dim and int(value_dim)
        self.use_bias = bool(use_bias)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.bias_regularizer = keras.regularizers.get(bias_regularizer)
        self.kernel_constraint = keras.constraints.get(kernel_constraint)
        self.bias_constraint = keras.constraints.get(bias_constraint)
        self.num_key_value_heads = num_key_value_heads and int(num_key_value_heads)
        self.score_scale = score_scale
        self.group = self.num_heads // (self.num_key_value_heads or self.num_heads)  # queries of one key
        self.weights_dropout = Dropout(dropout, seed=seed, name="weights_dropout", dtype=self.dtype_policy)
        self.supports_masking = True

    def _build_output(self, query_shape: Shape) -> int:
        """Set the widths of the heads, create the output projection, and return the width."""
        check_rank("the input of attention", query_shape)
        self.width = query_shape[-1] or 0
        self.key_width = self.key_dim or _head_width(self.width, self.num_heads)
        self.value_width = self.value_dim or self.key_width
        groups = self.num_heads // self.group
        self.parts = (  # of queries, keys and values
            Part(self.num_heads, self.key_width),
            Part(groups, self.key_width),
            Part(groups, self.value_width),
        )
        context_width = self.num_heads * self.value_width
        self.output_projection = self._dense(
            context_width, self.width, "output", self.kernel_initializer or "glorot_uniform"
        )
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: self.width})
        return self.width

    def _projection(self, input_width: int | None, name: str, *parts: Part) -> keras.layers.Dense:
        """Create one dense layer for several projections, each initialized as it would be alone."""
        widths = [part.heads * part.width for part in parts]
        initializer = (
            keras.initializers.VarianceScaling(1.0, mode="fan_in", distribution="uniform")
            if self.kernel_initializer is None
            else _side_by_side(self.kernel_initializer, widths)
        )
        return self._dense(input_width, sum(widths), name, initializer)

    def _dense(self, input_width: int | None, width: int, name: str, initializer: Any) -> keras.layers.Dense:
        layer = keras.layers.Dense(
            width,
            use_bias=self.use_bias,
            kernel_initializer=initializer,
            bias_initializer=self.bias_initializer,
            kernel_regularizer=self.kernel_regularizer,
            bias_regularizer=self.bias_regularizer,
            kernel_constraint=self.kernel_constraint,
            bias_constraint=self.bias_constraint,
            name=name,
            dtype=self.dtype_policy,
        )
        layer.build((None, None, input_width))
        return layer

    def _split(self, projected: Tensor, *parts: Part) -> list[Tensor]:
        """Split a fused projection (B, T, sum of widths) into heads (B, H, T, K) of each part."""
        rows, length = _rows(projected), ops.shape(projected)[1]
        if len(set(parts)) > 1:
            edges = np.cumsum([part.heads * part.width for part in parts])[:-1]
            pieces = ops.split(projected, edges.tolist(), axis=-1)
            return [self._split(piece, part)[0] for piece, part in zip(pieces, parts, strict=True)]
        shape = (rows, length, len(parts), *parts[0])
        heads = ops.transpose(ops.reshape(projected, shape), (2, 0, 3, 1, 4))
        # unstack, because the gradient of each slice heads[i] would allocate a tensor of zeros
        return list(ops.unstack(heads, len(parts), axis=0))

    def _attend(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Attend with (B, H, T, K), (B, G, S, K) twice -> output (B, T, D), weights (B, H, T, S)."""
        scores = self._by_head(attention_scores(self._by_group(query), key, self.score_scale))
        if bias is not None:
            scores = scores + ops.cast(bias, scores.dtype)
        weights = masked_softmax(scores, mask, query.dtype)
        context = self._by_head(ops.matmul(self._by_group(self.weights_dropout(weights)), value))
        context = ops.transpose(context, (0, 2, 1, 3))
        shape = (_rows(context), ops.shape(context)[1], self.num_heads * self.value_width)
        return self.output_projection(ops.reshape(context, shape)), weights

    def _by_group(self, x: Tensor) -> Tensor:
        """Put the heads that share a key below each other, (B, H, T, N) -> (B, G, H/G · T, N)."""
        if self.group == 1:
            return x
        length = self.group * ops.shape(x)[2]
        return ops.reshape(x, (_rows(x), self.num_heads // self.group, length, ops.shape(x)[-1]))

    def _by_head(self, x: Tensor) -> Tensor:
        """Undo `_by_group`, (B, G, H/G · T, N) -> (B, H, T, N)."""
        if self.group == 1:
            return x
        length = ops.shape(x)[2] // self.group
        return ops.reshape(x, (_rows(x), self.num_heads, length, ops.shape(x)[-1]))

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Return the symbolic output, after checking that the masks are boolean."""
        return masked_spec(self, *args, **kwargs)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {
            **super().get_config(),
            **serialized(self, Attention, later=("num_key_value_heads", "score_scale")),
        }


def _rows(x: Tensor) -> int:
    """Return the batch size, or -1 where it is not known.

    Not a computed size: a converted ONNX graph would compute it from another tensor.
    """
    return -1 if x.shape[0] is None else x.shape[0]


def check_rank(name: str, shape: Shape) -> None:
    """Raise ValueError for a shape that is not (batch, time, width) with a known width."""
    if len(shape) != 3 or shape[-1] is None:
        raise ValueError(f"{name} must have shape (batch, time, width) with a known width; got {shape}.")


def _side_by_side(initializer: Any, widths: list[int]) -> Callable[..., Tensor]:
    """Return an initializer that initializes each part of a fused kernel as a kernel of its own."""

    def initialize(shape: Shape, dtype: Any = None) -> Tensor:
        # an initializer of Keras returns the same numbers at each call; a clone has its own seed
        each = [initializer.clone() if hasattr(initializer, "clone") else initializer for _ in widths]
        parts = [one((shape[0], width), dtype=dtype) for one, width in zip(each, widths, strict=True)]
        return ops.concatenate(parts, axis=-1)

    return initialize


def _head_width(width: int, num_heads: int) -> int:
    """Return width / num_heads.

    Raises:
        ValueError: If num_heads does not divide the width.
    """
    if width % num_heads:
        divisors = (heads for heads in range(1, width + 1) if width % heads == 0)
        nearest = min(divisors, key=lambda heads: abs(heads - num_heads))
        raise ValueError(
            f"width must be divisible by num_heads; got {width} and {num_heads}. Try num_heads={nearest}."
        )
    return width // num_heads
