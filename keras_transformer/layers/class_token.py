"""The class token: a learned vector before a sequence, whose output stands for the whole sequence.

B batch, T length, D width.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.tensor import Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
class ClassToken(keras.layers.Layer):
    """Put a learned vector before each sequence, (B, T, D) -> (B, T + 1, D).

    An implicit mask (B, T) becomes (B, T + 1): the class token is a real position.

    Args:
        **kwargs: Arguments of keras.layers.Layer.

    Example:
        ```python
        x = ClassToken()(patches)
        ```
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, inputs_shape: Shape) -> None:
        """Create the vector."""
        self.vector = self.add_weight(
            name="class_token",
            shape=(1, 1, inputs_shape[-1]),
            initializer=keras.initializers.RandomNormal(stddev=0.02),
        )

    def call(self, inputs: Tensor) -> Tensor:
        """Put the vector before the sequences.

        Args:
            inputs: Vectors (B, T, D).

        Returns:
            Vectors (B, T + 1, D).
        """
        vector = ops.cast(ops.convert_to_tensor(self.vector), self.compute_dtype)
        first = ops.broadcast_to(vector, (ops.shape(inputs)[0], 1, inputs.shape[-1]))
        return ops.concatenate([first, inputs], axis=1)

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Tensor | None:
        """Return the mask (B, T + 1), or None if the input has none."""
        if previous_mask is None:
            return None
        return ops.pad(previous_mask, [[0, 0], [1, 0]], constant_values=True)

    def compute_output_shape(self, inputs_shape: Shape) -> Shape:
        """Return the shape with one position more."""
        batch, length, width = inputs_shape
        return batch, None if length is None else length + 1, width
