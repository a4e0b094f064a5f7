"""The gated feed-forward network."""

from typing import Any

import keras

from keras_transformer.layers.feed_forward.plain import FeedForward
from keras_transformer.layers.tensor import Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
class GatedFeedForward(FeedForward):
    """Position-wise feed-forward network with a gate, (..., D) -> (..., D).

    outer(activation(inner(x)) · linear(x)): with the activation "silu" it is SwiGLU, with "gelu" GEGLU. It
    has the arguments of FeedForward.

    Args:
        *args: Arguments of FeedForward.
        **kwargs: Arguments of FeedForward.

    Example:
        ```python
        x = GatedFeedForward(inner_width=1024, activation="silu", use_bias=False)(x)
        ```
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.linear = keras.layers.Dense(
            self.inner_width, use_bias=self.use_bias, name="linear", dtype=self.dtype_policy
        )

    def build(self, inputs_shape: Shape) -> None:
        """Create the weights of the three dense layers."""
        super().build(inputs_shape)
        self.linear.build(inputs_shape)

    def call(self, inputs: Tensor) -> Tensor:
        """Apply the network to every position.

        Args:
            inputs: Vectors (..., D).

        Returns:
            Vectors (..., D).
        """
        return self.outer(self.inner_dropout(self.inner(inputs) * self.linear(inputs)))
