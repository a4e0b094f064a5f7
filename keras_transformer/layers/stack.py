"""Base class of the encoder and the decoder: a stack of equal blocks and the final normalization."""

from typing import Any, ClassVar

import keras
from keras import ops

from keras_transformer.layers.arguments import check_sizes, serialized, spawn
from keras_transformer.layers.attention.relative_bias import RelativeBias
from keras_transformer.layers.block import TransformerBlock, TransformerSettings
from keras_transformer.layers.tensor import Shape, Tensor


class TransformerStack(TransformerSettings):
    """Base class of a stack of equal blocks; a pre-norm stack ends with a layer normalization."""

    block_class: ClassVar[type[TransformerBlock]]

    def __init__(
        self,
        num_layers: int = 6,
        *,
        relative_bias: dict[str, Any] | None = None,
        block_settings: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        check_sizes(num_layers=num_layers)
        super().__init__(**kwargs)
        self.num_layers = int(num_layers)
        self.relative_bias = relative_bias
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
        self.norm = self._norm("norm") if self.norm_first else None
        self.position_bias: RelativeBias | None = None
        if relative_bias is not None:
            bidirectional = not (block_settings or {}).get("causal", False)
            self.position_bias = RelativeBias(
                self.num_heads,
                bidirectional=bidirectional,
                name="position_bias",
                dtype=self.dtype_policy,
                **relative_bias,
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
        if self.position_bias is not None:
            self.position_bias.build()
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: inputs_shape[-1]})

    def _bias(self, length: int | Tensor, queries: Tensor | None = None) -> Tensor | None:
        """Return the bias of queries at positions (B, T), by default all, and keys at all positions."""
        if self.position_bias is None:
            return None
        keys = ops.arange(length)
        return self.position_bias(keys[None] if queries is None else queries, keys)

    def _finish(self, x: Tensor) -> Tensor:
        return x if self.norm is None else self.norm(x)

    def compute_output_shape(self, inputs_shape: Shape, memory_shape: Shape | None = None) -> Shape:
        """Return the shape of the input."""
        return inputs_shape

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        own = serialized(self, TransformerStack, later=("relative_bias",))
        return {**super().get_config(), **own}
