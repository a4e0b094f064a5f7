"""Multi-head attention layers: cross-attention and self-attention.

B batch, T target length, S source length, D width, H heads, K width of a head (D / H unless given).
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.arguments import check_flags
from keras_transformer.layers.attention.dot_product import scaled_dot_product_attention
from keras_transformer.layers.attention.heads import Attention, check_rank
from keras_transformer.layers.attention.masks import both, causal_between, causal_mask, heads_mask
from keras_transformer.layers.tensor import Shape, Tensor, fits

__all__ = ["MultiHeadAttention", "MultiHeadSelfAttention", "scaled_dot_product_attention"]


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
        self.query_projection = self._projection(width, "query", self.key_width)
        if key_shape is None:
            self.key_value_projection: Any = self._projection(
                value_shape[-1], "key_value", self.key_width, self.value_width
            )
            return
        check_rank("key", key_shape)
        self.key_value_projection = None
        self.key_projection = self._projection(key_shape[-1], "key", self.key_width)
        self.value_projection = self._projection(value_shape[-1], "value", self.value_width)

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
            Keys (B, H, S, K) and values (B, H, S, K).

        Raises:
            ValueError: If a key is passed to a layer that was built without one.
        """
        if self.key_value_projection is None:
            (key_heads,) = self._split(self.key_projection(value if key is None else key), self.key_width)
            (value_heads,) = self._split(self.value_projection(value), self.value_width)
            return key_heads, value_heads
        if key is not None and key is not value:
            raise ValueError(
                f"{self.name} was built without a key: it projects its keys from the value; got a key. "
                "Pass the key in the first call too, or call build(query_shape, value_shape, key_shape)."
            )
        key_heads, value_heads = self._split(
            self.key_value_projection(value), self.key_width, self.value_width
        )
        return key_heads, value_heads

    def look_up(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Attend to keys and values that `keys_and_values` has projected.

        Args:
            query: Vectors (B, T, D).
            key: Keys (B, H, S, K).
            value: Values (B, H, S, K).
            mask: Mask that broadcasts to (B, H, T, S), True where a position may attend; None allows all.

        Returns:
            The output (B, T, D) and the weights (B, H, T, S).
        """
        (query,) = self._split(self.query_projection(query), self.key_width)
        return self._attend(query, key, value, mask)

    def compute_output_shape(
        self, query_shape: Shape, value_shape: Shape, key_shape: Shape | None = None
    ) -> Shape:
        """Return the shape of the query."""
        return query_shape


@keras.saving.register_keras_serializable(package="keras_transformer")
class MultiHeadSelfAttention(Attention):
    """Multi-head attention from a sequence to itself, (B, T, D) -> (B, T, D).

    One fused projection computes queries, keys and values. The implicit mask hides padding from every query,
    and passes through to the output.

    Arguments have the names that keras.layers.MultiHeadAttention gives them.

    Args:
        num_heads: Number of heads.
        dropout: Share of the attention weights to drop in training, in [0, 1).
        seed: Seed of the dropout.
        key_dim: Width of a head's queries and keys; by default the width of the input / num_heads.
        value_dim: Width of a head's values; by default key_dim.
        use_bias: Whether the projections have biases.
        kernel_initializer: Initializer of each projection's kernel; by default Glorot uniform.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of the kernels.
        bias_regularizer: Regularizer of the biases.
        kernel_constraint: Constraint of the kernels.
        bias_constraint: Constraint of the biases.
        **kwargs: Arguments of keras.layers.Layer.

    Raises:
        ValueError: If a size or rate is out of range, or (when built) num_heads does not divide the width and
            no key_dim is given.

    Example:
        ```python
        x = MultiHeadSelfAttention(num_heads=8, dropout=0.1)(x, attention_mask=causal_mask(x.shape[1]))
        ```
    """

    def build(self, inputs_shape: Shape) -> None:
        """Create the fused input projection and the output projection."""
        width = self._build_output(inputs_shape)
        self.query_key_value_projection = self._projection(width, "query_key_value", *self.head_widths)

    def call(
        self,
        inputs: Tensor,
        attention_mask: Tensor | None = None,
        return_attention_scores: bool = False,
        mask: Tensor | None = None,
        inputs_mask: Tensor | None = None,
        use_causal_mask: bool = False,
    ) -> Any:
        """Attend from every position to the positions of the same sequence.

        Keras fills in `mask` where the input is the only tensor passed, and `inputs_mask` where it is not.

        Args:
            inputs: Vectors (B, T, D).
            attention_mask: (B, T, T) or (B, H, T, T), True where a position may attend. It combines with the
                padding mask.
            return_attention_scores: Whether to return the attention weights too.
            mask: Padding mask (B, T), True for real positions.
            inputs_mask: Padding mask (B, T), as `mask`.
            use_causal_mask: Whether position t may attend only to positions up to t.

        Returns:
            The output (B, T, D); with return_attention_scores a pair of it and the weights (B, H, T, T).

        Raises:
            ValueError: If a mask does not fit the input, or is a mask that is added to the scores.
        """
        check_flags(use_causal_mask=use_causal_mask, return_attention_scores=return_attention_scores)
        query, key, value = self._split(self.query_key_value_projection(inputs), *self.head_widths)
        scores_shape = (inputs.shape[0], self.num_heads, inputs.shape[1], inputs.shape[1])
        allowed = heads_mask(attention_mask, both(mask, inputs_mask), scores_shape)
        if use_causal_mask:
            allowed = both(causal_mask(ops.shape(inputs)[1]), allowed)
        output, scores = self._attend(query, key, value, allowed)
        return (output, scores) if return_attention_scores else output

    def step(
        self, inputs: Tensor, key: Tensor, value: Tensor, position: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Decode one position of each row, and write it to the cache.

        Args:
            inputs: Vectors (B, 1, D).
            key: Cached keys (B, H, T, K).
            value: Cached values (B, H, T, K).
            position: Index of the position in the cache: (B,) for each row its own, or () for all rows the
                same. With () a single slice of the cache is written, which is faster.

        Returns:
            The output (B, 1, D), the new keys and values (B, H, T, K), and the weights (B, H, 1, T).
        """
        query, new_key, new_value = self._split(self.query_key_value_projection(inputs), *self.head_widths)
        slots = ops.arange(ops.shape(key)[2])
        if len(position.shape) == 0:
            where = (0, 0, position, 0)
            key, value = ops.slice_update(key, where, new_key), ops.slice_update(value, where, new_value)
            output, scores = self._attend(query, key, value, ops.less_equal(slots, position))
            return output, key, value, scores
        position = ops.expand_dims(position, 1)
        here = ops.expand_dims(ops.equal(slots, position), (1, 3))
        key, value = ops.where(here, new_key, key), ops.where(here, new_value, value)
        seen = ops.expand_dims(ops.less_equal(slots, position), (1, 2))
        # zero the unseen values: 0 × NaN is NaN
        seen_value = ops.where(ops.swapaxes(seen, -1, -2), value, 0)
        output, scores = self._attend(query, key, seen_value, seen)
        return output, key, value, scores

    def prefill(
        self, inputs: Tensor, key: Tensor, value: Tensor, position: Tensor, lengths: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Decode several positions of each row at once, and write them to the cache.

        Args:
            inputs: Vectors (B, P, D), shorter rows padded at their end.
            key: Cached keys (B, H, T, K).
            value: Cached values (B, H, T, K).
            position: Index of each row's first position in the cache (B,).
            lengths: Number of real positions of each row (B,), at most P. Padding is not written to the
                cache.

        Returns:
            The output (B, P, D), the new keys and values (B, H, T, K), and the weights (B, H, P, T).
        """
        query, new_key, new_value = self._split(self.query_key_value_projection(inputs), *self.head_widths)
        slots, first, end = ops.arange(ops.shape(key)[2]), position[:, None], (position + lengths)[:, None]
        # slot s receives the new position s - first, if the row has that many
        written = ops.expand_dims(ops.logical_and(slots >= first, slots < end), (1, 3))
        taken = ops.clip(slots - first, 0, ops.shape(inputs)[1] - 1)
        key, value = (
            ops.where(written, ops.take_along_axis(new, ops.expand_dims(taken, (1, 3)), axis=2), old)
            for new, old in ((new_key, key), (new_value, value))
        )
        queries = ops.expand_dims(first + ops.arange(ops.shape(inputs)[1]), 2)
        filled = slots < end
        seen = ops.logical_and(slots <= queries, ops.expand_dims(filled, 1))
        seen_value = ops.where(ops.expand_dims(filled, (1, 3)), value, 0)
        output, scores = self._attend(query, key, seen_value, ops.expand_dims(seen, 1))
        return output, key, value, scores

    def compute_output_shape(self, inputs_shape: Shape) -> Shape:
        """Return the shape of the input."""
        return inputs_shape


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
