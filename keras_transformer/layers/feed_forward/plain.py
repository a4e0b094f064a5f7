"""The position-wise feed-forward network."""

from collections.abc import Callable
from typing import Any

import keras

from keras_transformer.layers.arguments import check_flags, check_rates, check_sizes, serialized
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.quantization import Quantizable
from keras_transformer.layers.tensor import Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
class FeedForward(Quantizable):
    """Position-wise feed-forward network, (..., D) -> (..., D).

    Two dense layers with an activation between them. Dropout applies to the inner activations. An implicit
    mask passes through.

    Args:
        inner_width: Width between the two dense layers.
        activation: Name of the activation, or a function.
        dropout: Share of the inner activations to drop in training, in [0, 1).
        seed: Seed of the dropout.
        use_bias: Whether the dense layers have biases.
        **kwargs: Arguments of keras.layers.Layer.

    Raises:
        ValueError: If inner_width is below 1, or dropout is outside [0, 1).

    Example:
        ```python
        x = FeedForward(inner_width=2048, activation="gelu", dropout=0.1)(x)
        ```
    """

    def __init__(
        self,
        inner_width: int,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        dropout: float = 0.0,
        seed: int | None = None,
        *,
        use_bias: bool = True,
        **kwargs: Any,
    ) -> None:
        check_sizes(inner_width=inner_width)
        check_rates(dropout=dropout)
        check_flags(use_bias=use_bias)
        super().__init__(**kwargs)
        self.inner_width = int(inner_width)
        self.activation = keras.activations.get(activation)
        self.dropout = dropout
        self.seed = seed
        self.use_bias = bool(use_bias)
        self.inner = keras.layers.Dense(
            self.inner_width,
            activation=self.activation,
            use_bias=self.use_bias,
            name="inner",
            dtype=self.dtype_policy,
        )
        self.inner_dropout = Dropout(dropout, seed=seed, name="inner_dropout", dtype=self.dtype_policy)
        self.supports_masking = True

    def build(self, inputs_shape: Shape) -> None:
        """Create the weights; the outer layer restores the width of the input.

        Raises:
            ValueError: If the width of the input is not known.
        """
        if inputs_shape[-1] is None:
            raise ValueError(f"the width of the input must be known; got shape {inputs_shape}.")
        self.inner.build(inputs_shape)
        self.outer = keras.layers.Dense(
            inputs_shape[-1], use_bias=self.use_bias, name="outer", dtype=self.dtype_policy
        )
        self.outer.build((*inputs_shape[:-1], self.inner_width))

    def call(self, inputs: Tensor) -> Tensor:
        """Apply the network to every position.

        Args:
            inputs: Vectors (..., D).

        Returns:
            Vectors (..., D).
        """
        return self.outer(self.inner_dropout(self.inner(inputs)))

    def compute_output_shape(self, inputs_shape: Shape) -> Shape:
        """Return the shape of the input."""
        return inputs_shape

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), **serialized(self, FeedForward, later=("use_bias",))}
