"""Additive attention (Bahdanau et al., 2015): a small network scores each pair of a query and a key.

B batch, T target length, S source length, W width of the network that scores.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.arguments import check_flags, check_sizes, serialized
from keras_transformer.layers.attention.dot_product import masked_softmax
from keras_transformer.layers.attention.heads import check_rank
from keras_transformer.layers.attention.masks import masked_spec
from keras_transformer.layers.quantization import Quantizable
from keras_transformer.layers.tensor import Shape, Tensor


def additive_scores(query: Tensor, key: Tensor, scale: Tensor) -> Tensor:
    """Compute scale · tanh(query + key), (..., T, W), (..., S, W), (W,) -> (..., T, S), in float32."""
    pairs = ops.tanh(query[..., :, None, :] + key[..., None, :, :])
    return ops.cast(ops.matmul(pairs, ops.cast(scale, pairs.dtype)[:, None])[..., 0], "float32")


@keras.saving.register_keras_serializable(package="keras_transformer")
class AdditiveAttention(Quantizable):
    """Additive attention from a query to a value, as over the states of a recurrent encoder.

    (B, T, any width) and (B, S, D) -> (B, T, D): for each position of the query, a weighted mean of the
    value. The scores are v · tanh(query W + value U + b).

    Every pair of positions has a vector of `width` numbers, so time and memory grow with B · T · S · width.
    The implicit mask of the value hides its padding; the implicit mask of the query passes through.

    Args:
        width: Width of the network that scores.
        **kwargs: Arguments of keras.layers.Layer.

    Raises:
        ValueError: If width is below 1, or an input is not (batch, time, width).

    Example:
        ```python
        attention = AdditiveAttention(width=128)
        context, weights = attention(decoder_states, encoder_states, return_attention_scores=True)
        ```
    """

    def __init__(self, width: int, **kwargs: Any) -> None:
        check_sizes(width=width)
        super().__init__(**kwargs)
        self.width = int(width)
        self.supports_masking = True
        self.query_projection = keras.layers.Dense(
            self.width, use_bias=False, name="query", dtype=self.dtype_policy
        )
        self.key_projection = keras.layers.Dense(self.width, name="key", dtype=self.dtype_policy)

    def build(self, query_shape: Shape, value_shape: Shape) -> None:
        """Create the projections and the vector v."""
        check_rank("the query of attention", query_shape)
        check_rank("the value of attention", value_shape)
        self.query_projection.build(query_shape)
        self.key_projection.build(value_shape)
        self.scale = self.add_weight(name="scale", shape=(self.width,), initializer=_vector)

    def call(
        self,
        query: Tensor,
        value: Tensor,
        query_mask: Tensor | None = None,
        value_mask: Tensor | None = None,
        return_attention_scores: bool = False,
    ) -> Any:
        """Attend from every position of the query to the positions of the value.

        Args:
            query: Vectors (B, T, any width).
            value: Vectors (B, S, D).
            query_mask: Padding mask (B, T); Keras fills it in. It does not change the result.
            value_mask: Padding mask (B, S), True for real positions; Keras fills it in.
            return_attention_scores: Whether to return the attention weights too.

        Returns:
            The output (B, T, D); with return_attention_scores a pair of it and the weights (B, T, S). A row
            that may attend to nothing is all zeros.

        Raises:
            ValueError: If the mask is not boolean, or does not fit.
        """
        check_flags(return_attention_scores=return_attention_scores)
        scale = ops.convert_to_tensor(self.scale)
        scores = additive_scores(self.query_projection(query), self.key_projection(value), scale)
        mask = None if value_mask is None else value_mask[:, None, :]
        weights = masked_softmax(scores, mask, self.compute_dtype)
        output = ops.matmul(weights, ops.cast(value, self.compute_dtype))
        return (output, weights) if return_attention_scores else output

    def compute_mask(self, query: Any, previous_mask: Any = None) -> Any:
        """Return the mask of the query."""
        return previous_mask[0] if isinstance(previous_mask, list | tuple) else previous_mask

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Return the symbolic output, after checking that the mask is boolean."""
        return masked_spec(self, *args, **kwargs)

    def compute_output_shape(self, query_shape: Shape, value_shape: Shape) -> Shape:
        """Return the length of the query with the width of the value."""
        return (*query_shape[:-1], value_shape[-1])

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), **serialized(self, AdditiveAttention)}


def _vector(shape: Shape, dtype: Any = None) -> Tensor:
    """Initialize v as the kernel (W, 1) of a dense layer."""
    return keras.initializers.GlorotUniform()((*shape, 1), dtype=dtype)[:, 0]
