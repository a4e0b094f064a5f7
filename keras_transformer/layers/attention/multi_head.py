"""Multi-head attention from one sequence to another: the cross-attention of a decoder.

B batch, T target length, S source length, D width, H heads, G heads of keys and values (H unless given),
K width of a head (D / H unless given).
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.arguments import check_flags
from keras_transformer.layers.attention.heads import Attention, check_rank
from keras_transformer.layers.attention.masks import both, causal_between, heads_mask
from keras_transformer.layers.tensor import Shape, Tensor, fits


@keras.saving.register_keras_serializable(package="keras_transformer")
class MultiHeadAttention(Attention):
    """Multi-head attention from a query to a value of another sequence.

    (B, T, D) and (B, S, any width) -> (B, T, D).

    With the encoder's output as the value this is the decoder's cross-attention: one fused projection
    computes keys and values. If the first call passes a `key` (B, S, any width), keys and values have a
    projection each.

    The implicit masks of value and key hide their padding. The implicit mask of the query passes through to
    the output; its padded positions attend like the others.

    Arguments have the names and the order that keras.layers.MultiHeadAttention gives them, except that
    dropout and seed may be passed by position.

    Args:
        num_heads: Number of heads.
        dropout: Share of the attention weights to drop in training, in [0, 1).
        seed: Seed of the dropout.
        key_dim: Width of a head's queries and keys; by default the width of the query / num_heads.
        value_dim: Width of a head's values; by default key_dim.
        use_bias: Whether the projections have biases.
        kernel_initializer: Initializer of each projection's kernel; by default Glorot uniform.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of the kernels.
        bias_regularizer: Regularizer of the biases.
        kernel_constraint: Constraint of the kernels.
        bias_constraint: Constraint of the biases.
        num_key_value_heads: Number of heads of keys and values, G; it divides num_heads, and each serves
            num_heads / G neighbouring heads of queries. By default num_heads.
        score_scale: Factor of the scores; by default 1 / √key_dim.
        **kwargs: Arguments of keras.layers.Layer.

    Raises:
        ValueError: If a size or rate is out of range, or (when built) num_heads does not divide the width and
            no key_dim is given.

    Example:
        ```python
        attention = MultiHeadAttention(num_heads=8)
        output, weights = attention(query, memory, return_attention_scores=True)
        ```
    """

    def build(self, query_shape: Shape, value_shape: Shape, key_shape: Shape | None = None) -> None:
        """Create the projections; with a key_shape, keys and values have separate ones."""
        width = self._build_output(query_shape)
        check_rank("value", value_shape)
        query, key, value = self.parts
        self.query_projection = self._projection(width, "query", query)
        if key_shape is None:
            self.key_value_projection: Any = self._projection(value_shape[-1], "key_value", key, value)
            return
        check_rank("key", key_shape)
        self.key_value_projection = None
        self.key_projection = self._projection(key_shape[-1], "key", key)
        self.value_projection = self._projection(value_shape[-1], "value", value)

    def call(
        self,
        query: Tensor,
        value: Tensor,
        key: Tensor | None = None,
        query_mask: Tensor | None = None,
        value_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        return_attention_scores: bool = False,
        use_causal_mask: bool = False,
    ) -> Any:
        """Attend from every position of the query to the positions of the value.

        Args:
            query: Vectors (B, T, D).
            value: Vectors (B, S, any width) from which the values are projected.
            key: Vectors (B, S, any width) from which the keys are projected; by default the value.
            query_mask: Padding mask (B, T); Keras fills it in. It does not change the result.
            value_mask: Padding mask (B, S), True for real positions; Keras fills it in.
            key_mask: Padding mask (B, S) of the key; Keras fills it in.
            attention_mask: (B, T, S) or (B, H, T, S), True where a position may attend. It combines with the
                padding masks.
            return_attention_scores: Whether to return the attention weights too.
            use_causal_mask: Whether position t may attend only to positions up to t.

        Returns:
            The output (B, T, D); with return_attention_scores a pair of it and the weights (B, H, T, S).

        Raises:
            ValueError: If the inputs have different numbers of rows, a mask does not fit them, or a key is
                passed to a layer that was built without one.
        """
        check_flags(use_causal_mask=use_causal_mask, return_attention_scores=return_attention_scores)
        _check_batches(query=query, value=value, key=key)
        key, value = self.keys_and_values(value, key)
        scores_shape = (query.shape[0], self.num_heads, query.shape[1], key.shape[2])
        mask = heads_mask(attention_mask, both(value_mask, key_mask), scores_shape)
        if use_causal_mask:
            mask = both(causal_between(ops.shape(query)[1], ops.shape(key)[2]), mask)
        output, scores = self.look_up(query, key, value, mask)
        return (output, scores) if return_attention_scores else output

    def keys_and_values(self, value: Tensor, key: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Project keys and values once, for any number of calls of `look_up`.

        Args:
            value: Vectors (B, S, any width).
            key: Vectors (B, S, any width); by default the value.

        Returns:
            Keys (B, G, S, K) and values (B, G, S, K).

        Raises:
            ValueError: If a key is passed to a layer that was built without one.
        """
        _, key_part, value_part = self.parts
        if self.key_value_projection is None:
            (key_heads,) = self._split(self.key_projection(value if key is None else key), key_part)
            (value_heads,) = self._split(self.value_projection(value), value_part)
            return key_heads, value_heads
        if key is not None and key is not value:
            raise ValueError(
                f"{self.name} was built without a key: it projects its keys from the value; got a key. "
                "Pass the key in the first call too, or call build(query_shape, value_shape, key_shape)."
            )
        key_heads, value_heads = self._split(self.key_value_projection(value), key_part, value_part)
        return key_heads, value_heads

    def look_up(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Attend to keys and values that `keys_and_values` has projected.

        Args:
            query: Vectors (B, T, D).
            key: Keys (B, G, S, K).
            value: Values (B, G, S, K).
            mask: Mask that broadcasts to (B, H, T, S), True where a position may attend; None allows all.

        Returns:
            The output (B, T, D) and the weights (B, H, T, S).
        """
        (query,) = self._split(self.query_projection(query), self.parts[0])
        return self._attend(query, key, value, mask)

    def compute_output_shape(
        self, query_shape: Shape, value_shape: Shape, key_shape: Shape | None = None
    ) -> Shape:
        """Return the shape of the query."""
        return query_shape


def _check_batches(**sequences: Tensor | None) -> None:
    """Raise ValueError for a mask instead of a sequence, and for different numbers of rows or keys."""
    given = {name: sequence for name, sequence in sequences.items() if sequence is not None}
    for name, sequence in given.items():
        if keras.backend.standardize_dtype(sequence.dtype) == "bool":
            raise ValueError(
                f"{name} must be a sequence of vectors; got a mask of shape {tuple(sequence.shape)}. "
                "Pass it by its name, as attention_mask or value_mask."
            )
    batches = {name: sequence.shape[0] for name, sequence in given.items() if sequence.shape[0] is not None}
    if len(set(batches.values())) > 1:
        shown = ", ".join(f"{name} has {batch}" for name, batch in batches.items())
        raise ValueError(f"query, value and key must have the same number of rows; {shown}.")
    value, key = sequences["value"], sequences["key"]
    if value is not None and key is not None and not fits(key.shape[1:2], value.shape[1:2]):
        raise ValueError(f"key and value must have the same length; got {key.shape[1]} and {value.shape[1]}.")
