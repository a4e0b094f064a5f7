"""Base classes of encoder and decoder blocks: their settings, and the residual path around each sublayer."""

from collections.abc import Callable
from typing import Any, get_args

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
from keras_transformer.layers.attention.self_attention import MultiHeadSelfAttention
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.feed_forward.gated import GatedFeedForward
from keras_transformer.layers.feed_forward.plain import FeedForward
from keras_transformer.layers.normalization import NORMALIZATIONS, Normalization
from keras_transformer.layers.rematerialization import Rematerializable
from keras_transformer.layers.tensor import Shape, Tensor

#: Options that files of earlier releases do not have.
LATER = ("normalization", "gated", "use_bias", "attention_options")


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
        *,
        normalization: Normalization = "layer",
        gated: bool = False,
        use_bias: bool = True,
        attention_options: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        check_sizes(num_heads=num_heads, inner_width=inner_width)
        check_rates(dropout=dropout, attention_dropout=attention_dropout, inner_dropout=inner_dropout)
        check_epsilon(epsilon)
        check_flags(norm_first=norm_first, gated=gated, use_bias=use_bias)
        if normalization not in get_args(Normalization):
            raise ValueError(
                f"normalization must be one of {', '.join(get_args(Normalization))}; got {normalization!r}."
            )
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
        self.normalization = normalization
        self.gated = bool(gated)
        self.use_bias = bool(use_bias)
        self.attention_options = attention_options
        self.supports_masking = True

    def settings(self) -> dict[str, Any]:
        """Return the arguments that a stack passes to each of its blocks."""
        return arguments_of(self, TransformerSettings)

    def _norm(self, name: str) -> keras.layers.Layer:
        """Create one of the normalizations."""
        return NORMALIZATIONS[self.normalization](epsilon=self.epsilon, name=name, dtype=self.dtype_policy)

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Return the symbolic output, after checking that the masks are boolean."""
        return masked_spec(self, *args, **kwargs)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), **serialized(self, TransformerSettings, LATER)}


class TransformerBlock(TransformerSettings):
    """Base class of the blocks: self-attention and a feed-forward network, each inside a residual.

    Pre-norm (norm_first): x + dropout(sublayer(norm(x))). Post-norm: norm(x + dropout(sublayer(x))).
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        attention_seed, residual_seed, inner_seed = spawn(self.seed, 3)
        self.self_attention = MultiHeadSelfAttention(
            name="self_attention", seed=attention_seed, **self._attention_arguments()
        )
        self.self_attention_norm = self._norm("self_attention_norm")
        self.feed_forward = (GatedFeedForward if self.gated else FeedForward)(
            self.inner_width,
            self.activation,
            self.inner_dropout,
            seed=inner_seed,
            use_bias=self.use_bias,
            name="feed_forward",
            dtype=self.dtype_policy,
        )
        self.feed_forward_norm = self._norm("feed_forward_norm")
        self.residual_dropout = Dropout(
            self.dropout, seed=residual_seed, name="residual_dropout", dtype=self.dtype_policy
        )

    def _attention_arguments(self) -> dict[str, Any]:
        return {
            "num_heads": self.num_heads,
            "dropout": self.attention_dropout,
            "use_bias": self.use_bias,
            "dtype": self.dtype_policy,
            **(self.attention_options or {}),
        }

    def _build_common(self, inputs_shape: Shape) -> None:
        self.self_attention.build(inputs_shape)
        self.feed_forward.build(inputs_shape)
        self.self_attention_norm.build(inputs_shape)
        self.feed_forward_norm.build(inputs_shape)
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: inputs_shape[-1]})

    def _enter(self, x: Tensor, norm: keras.layers.Layer) -> Tensor:
        return norm(x) if self.norm_first else x

    def _leave(self, x: Tensor, change: Tensor, norm: keras.layers.Layer) -> Tensor:
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
