"""Token types: which of two texts a token belongs to.

B batch, T length, D width.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.arguments import check_sizes
from keras_transformer.layers.tensor import Shape, Tensor, looked_up, whole


@keras.saving.register_keras_serializable(package="keras_transformer")
class TokenTypeEmbedding(keras.layers.Layer):
    """Add a learned vector for the type of each token, (B, T, D) -> (B, T, D).

    Without types, all tokens are of type 0. The implicit mask passes through.

    Args:
        num_types: Number of types.
        **kwargs: Arguments of keras.layers.Layer.

    Raises:
        ValueError: If num_types is below 1.

    Example:
        ```python
        x = TokenTypeEmbedding(num_types=2)(x, token_types)
        ```
    """

    def __init__(self, num_types: int, **kwargs: Any) -> None:
        check_sizes(num_types=num_types)
        super().__init__(**kwargs)
        self.num_types = int(num_types)
        self.supports_masking = True

    def build(self, inputs_shape: Shape, token_types_shape: Shape | None = None) -> None:
        """Create the table."""
        self.table = self.add_weight(
            name="token_types",
            shape=(self.num_types, inputs_shape[-1]),
            initializer=keras.initializers.RandomNormal(stddev=0.02),
        )

    def call(self, inputs: Tensor, token_types: Tensor | None = None) -> Tensor:
        """Add the vectors of the types.

        Args:
            inputs: Vectors (B, T, D).
            token_types: Integer types (B, T); None for type 0 everywhere.

        Returns:
            Vectors (B, T, D).

        Raises:
            ValueError: If a type is not below num_types.
        """
        table = ops.cast(ops.convert_to_tensor(self.table), self.compute_dtype)
        if token_types is None:
            return inputs + table[0]
        token_types = whole("token_types", token_types, self.num_types, floats=True)
        return inputs + looked_up(table, token_types)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Return the mask of the vectors."""
        return previous_mask[0] if isinstance(previous_mask, list | tuple) else previous_mask

    def compute_output_shape(self, inputs_shape: Shape, token_types_shape: Shape | None = None) -> Shape:
        """Return the shape of the input."""
        return inputs_shape

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), "num_types": self.num_types}
