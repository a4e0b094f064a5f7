"""What a layer takes and gives back, named for the type checker."""

from typing import Any, TypeAlias

#: A tensor of the Keras backend in use, or a symbolic `keras.KerasTensor`. The backends share no type.
Tensor: TypeAlias = Any
#: A static shape: None where a length is only known when the layer runs.
Shape: TypeAlias = tuple[int | None, ...]
