"""Token embeddings, and the output projection tied to them.

B batch, T length, D width, V vocabulary.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.arguments import check_flags, check_sizes, check_whole, serialized
from keras_transformer.layers.quantization import Quantizable
from keras_transformer.layers.tensor import Shape, Tensor, looked_up, traced_spec, whole

BLOCK = 1024  # columns: a product of few rows is fastest where a block of the matrix fits the cache


@keras.saving.register_keras_serializable(package="keras_transformer")
class TokenEmbedding(Quantizable, keras.layers.Embedding):
    """Token embedding with a tied output projection.

    (B, T) token ids -> (B, T, D); with reverse=True, (..., D) -> logits (..., V).

    Vectors are multiplied by √D as in the paper. They carry an implicit mask that is False where the id is
    pad_id. Ids may be floats, as in keras.layers.Embedding: Keras passes floats where a model does not
    declare the type of its input.

    `enable_lora` and `quantize` work as in keras.layers.Embedding, and apply to the reverse projection too:
    it multiplies with the same table, dequantized and with the change of LoRA.

    Args:
        vocabulary_size: Number of ids.
        width: Width of a vector.
        pad_id: Id of padding; None for no mask.
        scale: Whether vectors are multiplied by √width.
        embeddings_initializer: Initializer of the table; by default normal, such that vectors have unit
            variance.
        embeddings_regularizer: Regularizer of the table.
        embeddings_constraint: Constraint of the table.
        lora_rank: Rank of LoRA's change; None trains the table itself.
        lora_alpha: LoRA's change is scaled by lora_alpha / lora_rank; by default by 1.
        quantization_config: Keras' configuration of a quantized layer; `quantize` sets it.
        use_bias: Whether the reverse projection adds a bias.
        **kwargs: Arguments of keras.layers.Layer.

    Raises:
        ValueError: If a size is below 1, or pad_id is not an id of the vocabulary.

    Example:
        ```python
        embedding = TokenEmbedding(vocabulary_size=8000, width=128)
        vectors = embedding(ids)
        logits = embedding(vectors, reverse=True)
        ```
    """

    def __init__(
        self,
        vocabulary_size: int,
        width: int,
        pad_id: int | None = 0,
        scale: bool = True,
        *,
        embeddings_initializer: Any = None,
        embeddings_regularizer: Any = None,
        embeddings_constraint: Any = None,
        lora_rank: int | None = None,
        lora_alpha: float | None = None,
        quantization_config: Any = None,
        use_bias: bool = False,
        **kwargs: Any,
    ) -> None:
        check_sizes(vocabulary_size=vocabulary_size, width=width)
        check_flags(scale=scale, use_bias=use_bias)
        if pad_id is not None:
            check_whole(pad_id=pad_id)
            if not 0 <= pad_id < vocabulary_size:
                raise ValueError(
                    f"pad_id must be an id of the vocabulary, 0 to {vocabulary_size - 1}; got {pad_id}."
                )
        super().__init__(
            int(vocabulary_size),
            int(width),
            embeddings_initializer=embeddings_initializer,
            embeddings_regularizer=embeddings_regularizer,
            embeddings_constraint=embeddings_constraint,
            mask_zero=False,
            lora_rank=lora_rank,
            lora_alpha=lora_alpha,
            quantization_config=quantization_config,
            **kwargs,
        )
        self.vocabulary_size = int(vocabulary_size)
        self.width = int(width)
        self.pad_id = None if pad_id is None else int(pad_id)
        self.scale = bool(scale)
        self.use_bias = bool(use_bias)
        self.supports_masking = True

    def build(self, inputs_shape: Shape | None = None) -> None:
        """Create the table, and the bias of the reverse projection if there is one."""
        if self.use_bias:
            self.bias = self.add_weight(name="bias", shape=(self.vocabulary_size,), initializer="zeros")
        if self.quantization_mode is not None:
            super().build(inputs_shape)
            return
        # gives the scaled vectors unit variance, and the logits of the reverse too
        spread = self.width**-0.5 if self.scale else 1.0
        self._embeddings = self.add_weight(
            name="embeddings",
            shape=(self.vocabulary_size, self.width),
            initializer=self.embeddings_initializer or keras.initializers.RandomNormal(stddev=spread),
            regularizer=self.embeddings_regularizer,
            constraint=self.embeddings_constraint,
            autocast=False,  # looked up in float32: the gradients of a frequent token add up in float32
        )
        self.built = True
        if self.lora_rank:
            self.enable_lora(self.lora_rank, self.lora_alpha)

    def __call__(self, inputs: Any, *, reverse: bool = False, **kwargs: Any) -> Any:
        """Cast ids that are floats to integers, then call the layer."""
        # cast here, because compute_mask distinguishes ids from vectors by their type
        if not reverse:
            remedy = " vocabulary_size sets how many there are."
            inputs = whole("ids", inputs, self.vocabulary_size, remedy, floats=True)
        return super().__call__(inputs, reverse=reverse, **kwargs)

    def call(self, inputs: Tensor, reverse: bool = False) -> Tensor:
        """Look up ids, or project vectors back to logits.

        Args:
            inputs: Token ids (B, T); with `reverse`, vectors (..., D).
            reverse: Whether to compute logits.

        Returns:
            Vectors (B, T, D); with `reverse`, logits (..., V).
        """
        if reverse:
            return self._logits(inputs)
        vectors = self._rows(inputs)
        return ops.cast(vectors * self.width**0.5 if self.scale else vectors, self.compute_dtype)

    def quantized_call(self, inputs: Tensor, reverse: bool = False) -> Tensor:
        """Do what `call` does; Keras calls this method of a quantized layer.

        Args:
            inputs: Token ids (B, T); with `reverse`, vectors (..., D).
            reverse: Whether to compute logits.

        Returns:
            Vectors (B, T, D); with `reverse`, logits (..., V).
        """
        return self.call(inputs, reverse)

    def _rows(self, ids: Tensor) -> Tensor:
        """Look up rows of the table, dequantized and with the change of LoRA."""
        if self.quantization_mode is None:
            return looked_up(self.embeddings, ids)
        return super().quantized_call(ids)

    def _table(self) -> Tensor:
        """Return the whole table (V, D) with the values that a lookup returns."""
        plain = self.quantization_mode is None
        table = ops.convert_to_tensor(self.embeddings) if plain else self._rows(ops.arange(self.input_dim))
        return ops.cast(table, self.compute_dtype)

    def _logits(self, inputs: Tensor) -> Tensor:
        if inputs.shape[-1] != self.width:
            raise ValueError(
                f"reverse=True takes vectors of width {self.width}; got shape {tuple(inputs.shape)}."
            )
        return self.with_bias(ops.matmul(ops.cast(inputs, self.compute_dtype), ops.transpose(self._table())))

    def with_bias(self, logits: Tensor) -> Tensor:
        """Add the bias of the reverse projection, if there is one.

        Args:
            logits: Products (..., V) of vectors with `output_blocks`.

        Returns:
            The logits (..., V).
        """
        return logits + ops.cast(self.bias, logits.dtype) if self.use_bias else logits

    def output_blocks(self) -> tuple[Tensor, ...]:
        """Return the transposed table in blocks, laid out for many products with few rows.

        Returns:
            Matrices (D, at most 1024), which side by side are the table (D, V).
        """
        table = self._table()
        edges = list(range(BLOCK, self.vocabulary_size, BLOCK))
        # split, then transpose: the other order costs XLA four times as much
        return tuple(ops.transpose(rows) for rows in (ops.split(table, edges) if edges else [table]))

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Tensor | None:
        """Return the padding mask (B, T) of the ids, or in reverse the mask of the input."""
        if self.pad_id is None or _are_floats(inputs):
            return previous_mask
        return ops.not_equal(inputs, self.pad_id)

    @property
    def variable_serialization_spec(self) -> dict[str | None, list[str]]:
        """Names of the saved variables in each quantization mode, in their order."""
        spec = super().variable_serialization_spec
        return {mode: [*names, "bias"] for mode, names in spec.items()} if self.use_bias else spec

    def quantize(self, mode: Any = None, type_check: bool = True, config: Any = None) -> None:
        """Store the table in int8 or int4, with a scale for each row.

        Args:
            mode: "int8" or "int4".
            type_check: Ignored; Keras passes it to refuse subclasses.
            config: A keras.quantizers.QuantizationConfig in place of the default of `mode`.

        Raises:
            NotImplementedError: If an embedding has no such mode.
        """
        super().quantize(mode, type_check=False, config=config)

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Return the symbolic output: its shape depends on `reverse`."""
        return traced_spec(self, *args, **kwargs)

    def compute_output_shape(self, inputs_shape: Shape, reverse: bool = False) -> Shape:
        """Return the shape of the vectors, or in reverse that of the logits."""
        return (*inputs_shape[:-1], self.vocabulary_size) if reverse else (*inputs_shape, self.width)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        # skip the parent's config, which has other names for the sizes
        return {**super(keras.layers.Embedding, self).get_config(), **serialized(self, TokenEmbedding)}


def _are_floats(inputs: Any) -> bool:
    return hasattr(inputs, "dtype") and keras.backend.is_float_dtype(inputs.dtype)
