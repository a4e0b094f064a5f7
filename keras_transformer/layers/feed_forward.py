"""The network that every position goes through on its own."""

from collections.abc import Callable
from typing import Any

import keras

from keras_transformer.layers.arguments import check_rates, check_sizes, serialized
from keras_transformer.layers.quantization import Quantizable
from keras_transformer.layers.tensor import Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
class FeedForward(Quantizable):
    """Out to the inner width, through the activation, back to the width: (..., D) -> (..., D).

    Dropout falls on the inner activations. An implicit mask passes through.
    """

    def __init__(
        self,
        inner_width: int,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        check_sizes(inner_width=inner_width)
        check_rates(dropout=dropout)
        super().__init__(**kwargs)
        self.inner_width = int(inner_width)
        self.activation = keras.activations.get(activation)
        self.dropout = dropout
        self.seed = seed
        self.inner = keras.layers.Dense(
            self.inner_width, activation=self.activation, name="inner", dtype=self.dtype_policy
        )
        self.inner_dropout = keras.layers.Dropout(
            dropout, seed=seed, name="inner_dropout", dtype=self.dtype_policy
        )
        self.supports_masking = True

    def build(self, inputs_shape: Shape) -> None:
        if inputs_shape[-1] is None:
            raise ValueError(f"the width of the input must be known; got shape {inputs_shape}.")
        self.inner.build(inputs_shape)
        self.outer = keras.layers.Dense(inputs_shape[-1], name="outer", dtype=self.dtype_policy)
        self.outer.build((*inputs_shape[:-1], self.inner_width))

    def call(self, inputs: Tensor) -> Tensor:
        return self.outer(self.inner_dropout(self.inner(inputs)))

    def compute_output_shape(self, inputs_shape: Shape) -> Shape:
        return inputs_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **serialized(self, FeedForward)}
