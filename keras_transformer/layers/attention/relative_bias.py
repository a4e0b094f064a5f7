"""T5's relative positions: a learned bias of the scores for each distance between two positions.

B batch, T target length, S source length, H heads.
"""

import math
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_transformer.layers.arguments import check_flags, check_sizes, serialized
from keras_transformer.layers.tensor import Shape, Tensor, looked_up


def buckets(count: int, max_distance: int) -> NDArray[np.int32]:
    """Compute the bucket of each distance from 0 to max_distance, (max_distance + 1,).

    The first half of the buckets have one distance each; in the others the distances grow logarithmically.
    """
    exact = count // 2
    distances = np.arange(max_distance + 1)
    # in float32, as where the weights were trained: a distance may lie on the edge of a bucket
    logarithm = np.log(np.maximum(distances, 1).astype("float32") / np.float32(exact))
    share = logarithm / np.float32(math.log(max_distance / exact)) * np.float32(count - exact)
    far = np.minimum(exact + share.astype("int32"), count - 1)
    return np.where(distances < exact, distances, far).astype("int32")


@keras.saving.register_keras_serializable(package="keras_transformer")
class RelativeBias(keras.layers.Layer):
    """Bias of attention scores for each distance between two positions, as in T5.

    Distances are put into buckets: short ones have one each, long ones share one. Distances of max_distance
    and more have the last bucket.

    Args:
        num_heads: Number of heads.
        num_buckets: Number of buckets.
        max_distance: Distance from which all have one bucket.
        bidirectional: Whether half of the buckets are for later positions. Otherwise all later positions have
            the bucket of distance 0.
        **kwargs: Arguments of keras.layers.Layer.

    Raises:
        ValueError: If a size is below 1, the buckets are too few, or max_distance is too small for them.

    Example:
        ```python
        bias = RelativeBias(num_heads=8)(ops.arange(10)[None], ops.arange(10))  # (1, 8, 10, 10)
        ```
    """

    def __init__(
        self,
        num_heads: int,
        num_buckets: int = 32,
        max_distance: int = 128,
        bidirectional: bool = True,
        **kwargs: Any,
    ) -> None:
        check_sizes(num_heads=num_heads, num_buckets=num_buckets, max_distance=max_distance)
        check_flags(bidirectional=bidirectional)
        smallest = 4 if bidirectional else 2
        if num_buckets < smallest:
            raise ValueError(f"num_buckets must be at least {smallest}; got {num_buckets}.")
        exact = num_buckets // smallest
        if max_distance <= exact:
            raise ValueError(
                f"max_distance must be above {exact} for {num_buckets} buckets; got {max_distance}."
            )
        super().__init__(**kwargs)
        self.num_heads = int(num_heads)
        self.num_buckets = int(num_buckets)
        self.max_distance = int(max_distance)
        self.bidirectional = bool(bidirectional)

    def build(self, queries_shape: Shape | None = None, keys_shape: Shape | None = None) -> None:
        """Create the table (num_buckets, num_heads)."""
        self.table = self.add_weight(
            name="table",
            shape=(self.num_buckets, self.num_heads),
            initializer=keras.initializers.RandomNormal(stddev=0.02),
        )

    def call(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Compute the bias of every pair of positions.

        Args:
            queries: Integer positions (B, T).
            keys: Integer positions (S,).

        Returns:
            The bias (B, H, T, S).
        """
        by_offset = looked_up(ops.convert_to_tensor(self.table), ops.convert_to_tensor(self._by_offset()))
        offsets = ops.clip(keys - queries[..., None], -self.max_distance, self.max_distance)
        return ops.transpose(looked_up(by_offset, offsets + self.max_distance), (0, 3, 1, 2))

    def _by_offset(self) -> NDArray[np.int32]:
        """Return the bucket of each offset of a key from its query, from -max_distance to max_distance."""
        count = self.num_buckets // 2 if self.bidirectional else self.num_buckets
        of_distance = buckets(count, self.max_distance)
        later = of_distance[1:] + count if self.bidirectional else np.zeros_like(of_distance[1:])
        return np.concatenate([of_distance[::-1], later])

    def compute_output_shape(self, queries_shape: Shape, keys_shape: Shape) -> Shape:
        """Return the shape (B, H, T, S)."""
        return (queries_shape[0], self.num_heads, queries_shape[1], keys_shape[0])

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), **serialized(self, RelativeBias)}
