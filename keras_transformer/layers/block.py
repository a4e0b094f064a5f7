"""Base classes of encoder and decoder blocks: their settings, and the residual path around each sublayer."""

from collections.abc import Callable
from typing import Any

import keras

from keras_transformer.layers.arguments import (
    arguments_of,
    check_epsilon,
    check_flags,
    check_rates,
    check_sizes,
    serialized,
    spawn,
)
from keras_transformer.layers.attention.masks import masked_spec
from keras_transformer.layers.attention.multi_head import MultiHeadSelfAttention
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.normalization import LayerNormalization
from keras_transformer.layers.rematerialization import Rematerializable
from keras_transformer.layers.tensor import Shape, Tensor


class TransformerSettings(Rematerializable):
    """Base class that holds the arguments of a block or stack, and writes them to its config."""

    def __init__(
        self,
        num_heads: int = 8,
        inner_width: int = 2048,
        dropout: float = 0.1,
        attention_dropout: float = 0.0,
        inner_dropout: float = 0.0,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        norm_first: bool = True,
        epsilon: float = 1e-5,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        check_sizes(num_heads=num_heads, inner_width=inner_width)
        check_rates(dropout=dropout, attention_dropout=attention_dropout, inner_dropout=inner_dropout)
        check_epsilon(epsilon)
        check_flags(norm_first=norm_first)
        super().__init__(**kwargs)
        self.num_heads = int(num_heads)
        self.inner_width = int(inner_width)
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.inner_dropout = inner_dropout
        self.activation = keras.activations.get(activation)
        self.norm_first = bool(norm_first)
        self.epsilon = epsilon
        self.seed = seed
        self.supports_masking = True

    def settings(self) -> dict[str, Any]:
        """Return the arguments that a stack passes to each of its blocks."""
        return arguments_of(self, TransformerSettings)

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Return the symbolic output, after checking that the masks are boolean."""
        return masked_spec(self, *args, **kwargs)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), **serialized(self, TransformerSettings)}


class TransformerBlock(TransformerSettings):
    """Base class of the blocks: self-attention and a feed-forward network, each inside a residual.

    Pre-norm (norm_first): x + dropout(sublayer(norm(x))). Post-norm: norm(x + dropout(sublayer(x))).
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        attention_seed, residual_seed, inner_seed = spawn(self.seed, 3)
        self.self_attention = MultiHeadSelfAttention(
            self.num_heads,
            self.attention_dropout,
            seed=attention_seed,
            name="self_attention",
            dtype=self.dtype_policy,
        )
        self.self_attention_norm = self._norm("self_attention_norm")
        self.feed_forward = FeedForward(
            self.inner_width,
            self.activation,
            self.inner_dropout,
            seed=inner_seed,
            name="feed_forward",
            dtype=self.dtype_policy,
        )
        self.feed_forward_norm = self._norm("feed_forward_norm")
        self.residual_dropout = keras.layers.Dropout(
            self.dropout, seed=residual_seed, name="residual_dropout", dtype=self.dtype_policy
        )

    def _norm(self, name: str) -> LayerNormalization:
        return LayerNormalization(epsilon=self.epsilon, name=name, dtype=self.dtype_policy)

    def _build_common(self, inputs_shape: Shape) -> None:
        self.self_attention.build(inputs_shape)
        self.feed_forward.build(inputs_shape)
        self.self_attention_norm.build(inputs_shape)
        self.feed_forward_norm.build(inputs_shape)
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: inputs_shape[-1]})

    def _enter(self, x: Tensor, norm: LayerNormalization) -> Tensor:
        return norm(x) if self.norm_first else x

    def _leave(self, x: Tensor, change: Tensor, norm: LayerNormalization) -> Tensor:
        x = x + self.residual_dropout(change)
        return x if self.norm_first else norm(x)

    def _feed(self, x: Tensor) -> Tensor:
        """Apply the feed-forward half of the block."""
        return self._leave(
            x, self.feed_forward(self._enter(x, self.feed_forward_norm)), self.feed_forward_norm
        )

    def compute_output_shape(self, inputs_shape: Shape, memory_shape: Shape | None = None) -> Shape:
        """Return the shape of the input."""
        return inputs_shape
