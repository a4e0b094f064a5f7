"""Base class of the encoder and the decoder: a stack of equal blocks and the final normalization."""

from typing import Any, ClassVar

import keras

from keras_transformer.layers.arguments import check_sizes, spawn
from keras_transformer.layers.block import TransformerBlock, TransformerSettings
from keras_transformer.layers.normalization import LayerNormalization
from keras_transformer.layers.tensor import Shape, Tensor


class TransformerStack(TransformerSettings):
    """Base class of a stack of equal blocks; a pre-norm stack ends with a layer normalization."""

    block_class: ClassVar[type[TransformerBlock]]

    def __init__(
        self, num_layers: int = 6, *, block_settings: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        check_sizes(num_layers=num_layers)
        super().__init__(**kwargs)
        self.num_layers = int(num_layers)
        self.blocks = [
            self.block_class(
                **{
                    **self.settings(),
                    **(block_settings or {}),
                    "seed": seed,
                    "activation": self._activation(),
                },
                name=f"block_{index}",
                dtype=self.dtype_policy,
            )
            for index, seed in enumerate(spawn(self.seed, self.num_layers))
        ]
        self.norm = (
            LayerNormalization(epsilon=self.epsilon, name="norm", dtype=self.dtype_policy)
            if self.norm_first
            else None
        )

    def _activation(self) -> Any:
        """Return the activation of one block; a layer is cloned, because blocks share no weights."""
        if not isinstance(self.activation, keras.layers.Layer):
            return self.activation
        return type(self.activation).from_config(self.activation.get_config())

    def _build_blocks(self, inputs_shape: Shape, *other_shapes: Shape | None) -> None:
        for block in self.blocks:
            block.build(inputs_shape, *other_shapes)
        if self.norm is not None:
            self.norm.build(inputs_shape)
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: inputs_shape[-1]})

    def _finish(self, x: Tensor) -> Tensor:
        return x if self.norm is None else self.norm(x)

    def compute_output_shape(self, inputs_shape: Shape, memory_shape: Shape | None = None) -> Shape:
        """Return the shape of the input."""
        return inputs_shape

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), "num_layers": self.num_layers}
