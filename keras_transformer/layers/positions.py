"""Positional encodings, added to the vectors of tokens.

B batch, T length, D width.
"""

from typing import Any, Literal, get_args

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_transformer.layers.arguments import check_sizes
from keras_transformer.layers.tensor import Shape, Tensor, fits, looked_up, whole

Kind = Literal["sinusoidal", "sinusoidal_halves", "learned"]


def sinusoids(length: int, width: int) -> NDArray[np.float32]:
    """Compute the table (length, width) of the paper's sinusoids.

    PE(p, 2i) = sin(p / 10000^(2i/width)), and PE(p, 2i+1) is the cosine of the same angle.
    """
    even = np.arange(width) // 2 * 2
    angles = np.arange(length)[:, None] / 10_000.0 ** (even / width)
    return np.where(np.arange(width) % 2 == 0, np.sin(angles), np.cos(angles)).astype("float32")


def halves(table: NDArray[np.float32]) -> NDArray[np.float32]:
    """Reorder the columns of a table (length, width): all sines, then all cosines."""
    return np.concatenate([table[:, 0::2], table[:, 1::2]], axis=1)


@keras.saving.register_keras_serializable(package="keras_transformer")
class PositionalEncoding(keras.layers.Layer):
    """Add a vector for each position, (B, T, D) -> (B, T, D).

    "sinusoidal" alternates sines and cosines as in the paper; "sinusoidal_halves" has all sines first, as in
    Marian; "learned" is a (max_length, D) weight. An implicit mask passes through.

    Args:
        max_length: Number of positions: 0 to max_length - 1.
        kind: "sinusoidal", "sinusoidal_halves" or "learned".
        **kwargs: Arguments of keras.layers.Layer.

    Raises:
        ValueError: If max_length is below 1, or the kind is unknown.

    Example:
        ```python
        x = PositionalEncoding(max_length=256, kind="learned")(x)
        ```
    """

    def __init__(self, max_length: int = 512, kind: Kind = "sinusoidal", **kwargs: Any) -> None:
        check_sizes(max_length=max_length)
        super().__init__(**kwargs)
        if kind not in get_args(Kind):
            raise ValueError(f"kind must be one of {', '.join(get_args(Kind))}; got {kind!r}.")
        self.max_length = int(max_length)
        self.kind = kind
        self.supports_masking = True

    def build(self, inputs_shape: Shape) -> None:
        """Create the table for the width of the input.

        Raises:
            ValueError: If the input is not (batch, time, width) with a known width.
        """
        if len(inputs_shape) != 3:
            raise ValueError(
                f"PositionalEncoding adds to (batch, time, width); got an input of shape {inputs_shape}."
            )
        width = inputs_shape[-1]
        if width is None:
            raise ValueError(f"the width of the input must be known; got shape {inputs_shape}.")
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: width})
        if self.kind == "learned":
            self.table = self.add_weight(
                name="positions",
                shape=(self.max_length, width),
                initializer=keras.initializers.RandomNormal(stddev=0.02),
            )
        else:
            table = sinusoids(self.max_length, width)
            self.table = table if self.kind == "sinusoidal" else halves(table)

    def call(self, inputs: Tensor, positions: Tensor | None = None) -> Tensor:
        """Add the vectors of the positions.

        Args:
            inputs: Vectors (B, T, D).
            positions: Integer positions (B, T) or (T,); by default they count from 0.

        Returns:
            Vectors (B, T, D).

        Raises:
            ValueError: If the input is longer than max_length, or positions have another length than the
                input.
        """
        if positions is None:
            return inputs + self._first(ops.shape(inputs)[1])
        positions = self._known_here(positions)
        if not fits(positions.shape[-1:], inputs.shape[1:2]) or not fits(
            positions.shape, inputs.shape[:2], broadcast=True
        ):
            raise ValueError(
                f"positions must be (batch, time) or (time,); got {tuple(positions.shape)} for an input of "
                f"shape {tuple(inputs.shape)}. For one step of each row pass position[:, None]."
            )
        return inputs + looked_up(self._table(), positions)

    def at(self, positions: Tensor) -> Tensor:
        """Look up the vectors of positions.

        Args:
            positions: Integer positions of any shape (...).

        Returns:
            Their vectors (..., D).
        """
        return looked_up(self._table(), self._known_here(positions))

    def _known_here(self, positions: Tensor) -> Tensor:
        return whole("positions", positions, self.max_length, " max_length sets how many there are.")

    def _first(self, length: int | Tensor) -> Tensor:
        self._check_length(length)
        # slice, not [:length]: it also fails for a length past the table that is only known at run time
        return ops.slice(self._table(), (0, 0), (length, self.table.shape[1]))

    def _check_length(self, length: int | Tensor | None) -> None:
        if isinstance(length, int) and length > self.max_length:
            raise ValueError(
                f"PositionalEncoding knows {self.max_length} positions; got an input of length {length}. "
                f"Create it with max_length={length} or more."
            )

    def _table(self) -> Tensor:
        return ops.cast(ops.convert_to_tensor(self.table), self.compute_dtype)

    def compute_output_spec(self, inputs: Tensor, positions: Tensor | None = None) -> Any:
        """Return the symbolic output, after checking the length of the input."""
        if positions is None:
            self._check_length(inputs.shape[1])  # reports a wrong length while a model is being built
        return super().compute_output_spec(inputs, positions)

    def compute_output_shape(self, inputs_shape: Shape, positions_shape: Shape | None = None) -> Shape:
        """Return the shape of the input."""
        return inputs_shape

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), "max_length": self.max_length, "kind": self.kind}
