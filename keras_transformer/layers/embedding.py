"""Token ids to vectors, and back to logits with the same weights.

B batch, T length, D width, V vocabulary.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.lookup import looked_up
from keras_transformer.layers.tensor import Shape, Tensor, traced_spec

BLOCK = 1024  # columns: a product of few rows is fastest where a block of the matrix fits the cache


@keras.saving.register_keras_serializable(package="keras_transformer")
class TokenEmbedding(keras.layers.Layer):
    """(B, T) token ids -> (B, T, D), times √D as in the paper; with reverse=True, (..., D) -> (..., V).

    The reverse is the output projection, tied to the embedding. The vectors carry a mask that is False where
    the id is pad_id (none with pad_id=None).
    """

    def __init__(
        self, vocabulary_size: int, width: int, pad_id: int | None = 0, scale: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if vocabulary_size < 1 or width < 1:
            raise ValueError(
                f"vocabulary_size and width must be at least 1; got {vocabulary_size} and {width}."
            )
        if pad_id is not None and not 0 <= pad_id < vocabulary_size:
            raise ValueError(
                f"pad_id must be an id of the vocabulary, 0 to {vocabulary_size - 1}; got {pad_id}."
            )
        self.vocabulary_size = vocabulary_size
        self.width = width
        self.pad_id = pad_id
        self.scale = scale
        self.supports_masking = True

    def build(self, inputs_shape: Shape) -> None:
        # the spread that gives unit vectors after the √D, and logits of unit spread on the way back
        spread = self.width**-0.5
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.vocabulary_size, self.width),
            initializer=keras.initializers.RandomNormal(stddev=spread if self.scale else 1.0),
            autocast=False,  # looked up in float32: the gradients of a frequent token add up in float32
        )

    def call(self, inputs: Tensor, reverse: bool = False) -> Tensor:
        if reverse:
            return self._logits(inputs)
        if not _are_ids(inputs):
            dtype = keras.backend.standardize_dtype(inputs.dtype)
            raise ValueError(
                f"TokenEmbedding takes integer token ids; got {dtype}. Declare the input as "
                'keras.Input((None,), dtype="int32"); reverse=True turns vectors into logits.'
            )
        vectors = looked_up(self.embeddings, ops.cast(inputs, "int32"))
        return ops.cast(vectors * self.width**0.5 if self.scale else vectors, self.compute_dtype)

    def _logits(self, inputs: Tensor) -> Tensor:
        if inputs.shape[-1] != self.width:
            raise ValueError(
                f"reverse=True takes vectors of width {self.width}; got shape {tuple(inputs.shape)}."
            )
        table = ops.cast(ops.convert_to_tensor(self.embeddings), self.compute_dtype)
        return ops.matmul(ops.cast(inputs, self.compute_dtype), ops.transpose(table))

    def output_blocks(self) -> tuple[Tensor, ...]:
        """The reverse, laid out once for many products with few rows: blocks of (D, at most 1024)."""
        table = ops.cast(ops.convert_to_tensor(self.embeddings), self.compute_dtype)
        edges = list(range(BLOCK, self.vocabulary_size, BLOCK))
        # rows apart, then turned round: the other way round costs XLA four times as much
        return tuple(ops.transpose(rows) for rows in (ops.split(table, edges) if edges else [table]))

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Tensor | None:
        if self.pad_id is None or not _are_ids(inputs):
            return previous_mask
        return ops.not_equal(inputs, self.pad_id)

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        return traced_spec(self, *args, **kwargs)

    def compute_output_shape(self, inputs_shape: Shape, reverse: bool = False) -> Shape:
        return (*inputs_shape[:-1], self.vocabulary_size) if reverse else (*inputs_shape, self.width)

    def get_config(self) -> dict[str, Any]:
        own = {
            "vocabulary_size": self.vocabulary_size,
            "width": self.width,
            "pad_id": self.pad_id,
            "scale": self.scale,
        }
        return {**super().get_config(), **own}


def _are_ids(inputs: Tensor) -> bool:
    return "int" in keras.backend.standardize_dtype(inputs.dtype)
