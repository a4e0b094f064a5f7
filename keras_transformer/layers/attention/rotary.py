"""Rotary positions: queries and keys are rotated by angles that grow with their position.

B batch, T length, H heads, K width of a head.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_transformer.layers.arguments import check_scale
from keras_transformer.layers.tensor import Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
@dataclass(frozen=True)
class RotaryPositions:
    """Rotary position embedding (RoPE) of queries and keys, with the scaling of Llama 3.

    Dimension i of a head and dimension i + K/2 are rotated by the angle p · base^(-2i/K) at position p, so
    that a score depends on the distance of two positions alone.

    With a factor above 1, rotations that are slower than low_frequency_factor turns in original_length
    positions are slowed by the factor; those faster than high_frequency_factor turns stay; between them it is
    interpolated.

    Args:
        base: Base of the frequencies.
        factor: Llama 3's scaling; 1 scales nothing.
        low_frequency_factor: Turns up to which a rotation is scaled by the whole factor.
        high_frequency_factor: Turns from which a rotation stays as it is.
        original_length: Number of positions before the scaling.

    Raises:
        ValueError: If a value is not a finite number above 0, or high_frequency_factor is not above
            low_frequency_factor.

    Example:
        ```python
        rotary = RotaryPositions(base=500_000.0, factor=8.0)
        decoder = TransformerDecoder(num_heads=8, attention_options={"rotary": rotary})
        ```
    """

    base: float = 10_000.0
    factor: float = 1.0
    low_frequency_factor: float = 1.0
    high_frequency_factor: float = 4.0
    original_length: int = 8192

    def __post_init__(self) -> None:
        check_scale(**asdict(self))
        if self.high_frequency_factor <= self.low_frequency_factor:
            raise ValueError(
                "high_frequency_factor must be above low_frequency_factor; "
                f"got {self.high_frequency_factor} and {self.low_frequency_factor}."
            )

    def frequencies(self, width: int) -> NDArray[np.float32]:
        """Compute the angles per position.

        Args:
            width: Width of a head, K.

        Returns:
            The angles (K/2,).
        """
        plain = self.base ** (-np.arange(0, width, 2) / width)
        turns = self.original_length * plain / (2 * math.pi)
        span = self.high_frequency_factor - self.low_frequency_factor
        kept = np.clip((turns - self.low_frequency_factor) / span, 0, 1)
        return (plain * (kept + (1 - kept) / self.factor)).astype("float32")

    def rotate(self, heads: Tensor, positions: Tensor) -> Tensor:
        """Rotate queries or keys.

        Args:
            heads: Queries or keys (B, H, T, K).
            positions: Integer positions (B, T) or (1, T).

        Returns:
            The rotated heads (B, H, T, K).
        """
        # in float32: with fewer bits, neighbours would share an angle
        frequencies = ops.convert_to_tensor(self.frequencies(heads.shape[-1]))
        angles = ops.cast(positions, "float32")[:, None, :, None] * frequencies
        cos, sin = (ops.cast(function(angles), heads.dtype) for function in (ops.cos, ops.sin))
        first, second = ops.split(heads, 2, axis=-1)
        return ops.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return asdict(self)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "RotaryPositions":
        """Create rotary positions from the result of `get_config`.

        Args:
            config: The configuration.

        Returns:
            The rotary positions.
        """
        return cls(**config)
