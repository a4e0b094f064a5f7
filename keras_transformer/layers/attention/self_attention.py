"""Multi-head attention from a sequence to itself, all positions at once or step by step over a cache.

B batch, T length, D width, H heads, G heads of keys and values (H unless given), K width of a head (D / H
unless given).
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.arguments import check_flags, serialized
from keras_transformer.layers.attention.heads import Attention
from keras_transformer.layers.attention.masks import both, causal_mask, heads_mask
from keras_transformer.layers.attention.rotary import RotaryPositions
from keras_transformer.layers.tensor import Shape, Tensor


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
        num_key_value_heads: Number of heads of keys and values, G; it divides num_heads, and each serves
            num_heads / G neighbouring heads of queries. By default num_heads.
        score_scale: Factor of the scores; by default 1 / √key_dim.
        rotary: Rotation of queries and keys by their positions; by default none.
        **kwargs: Arguments of keras.layers.Layer.

    Raises:
        ValueError: If a size or rate is out of range, or (when built) num_heads does not divide the width and
            no key_dim is given.

    Example:
        ```python
        x = MultiHeadSelfAttention(num_heads=8, dropout=0.1)(x, attention_mask=causal_mask(x.shape[1]))
        ```
    """

    def __init__(
        self,
        num_heads: int,
        dropout: float = 0.0,
        seed: int | None = None,
        *,
        rotary: RotaryPositions | dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_heads, dropout, seed, **kwargs)
        self.rotary: RotaryPositions | None = (
            keras.saving.deserialize_keras_object(rotary) if isinstance(rotary, dict) else rotary
        )

    def build(self, inputs_shape: Shape) -> None:
        """Create the fused input projection and the output projection."""
        width = self._build_output(inputs_shape)
        self.query_key_value_projection = self._projection(width, "query_key_value", *self.parts)
        if self.rotary is not None and self.key_width % 2:
            raise ValueError(f"rotary positions need an even width of a head; got {self.key_width}.")

    def call(
        self,
        inputs: Tensor,
        attention_mask: Tensor | None = None,
        return_attention_scores: bool = False,
        mask: Tensor | None = None,
        inputs_mask: Tensor | None = None,
        use_causal_mask: bool = False,
        attention_bias: Tensor | None = None,
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
            attention_bias: Values that are added to the scores (B, H, T, T), or broadcast to them.

        Returns:
            The output (B, T, D); with return_attention_scores a pair of it and the weights (B, H, T, T).

        Raises:
            ValueError: If a mask does not fit the input, or is a mask that is added to the scores.
        """
        check_flags(use_causal_mask=use_causal_mask, return_attention_scores=return_attention_scores)
        query, key, value = self._heads(inputs, ops.arange(ops.shape(inputs)[1])[None])
        scores_shape = (inputs.shape[0], self.num_heads, inputs.shape[1], inputs.shape[1])
        allowed = heads_mask(attention_mask, both(mask, inputs_mask), scores_shape)
        if use_causal_mask:
            allowed = both(causal_mask(ops.shape(inputs)[1]), allowed)
        output, scores = self._attend(query, key, value, allowed, attention_bias)
        return (output, scores) if return_attention_scores else output

    def _heads(self, inputs: Tensor, positions: Tensor) -> list[Tensor]:
        """Project vectors (B, T, D) at positions (B, T) or (1, T) to queries, keys and values."""
        query, key, value = self._split(self.query_key_value_projection(inputs), *self.parts)
        if self.rotary is None:
            return [query, key, value]
        return [self.rotary.rotate(query, positions), self.rotary.rotate(key, positions), value]

    def step(
        self,
        inputs: Tensor,
        key: Tensor,
        value: Tensor,
        position: Tensor,
        attention_bias: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Decode one position of each row, and write it to the cache.

        Args:
            inputs: Vectors (B, 1, D).
            key: Cached keys (B, G, T, K).
            value: Cached values (B, G, T, K).
            position: Index of the position in the cache: (B,) for each row its own, or () for all rows the
                same. With () a single slice of the cache is written, which is faster.
            attention_bias: Values that are added to the scores (B, H, 1, T), or broadcast to them.

        Returns:
            The output (B, 1, D), the new keys and values (B, G, T, K), and the weights (B, H, 1, T).
        """
        positions = ops.reshape(position, (-1, 1))
        query, new_key, new_value = self._heads(inputs, positions)
        slots = ops.arange(ops.shape(key)[2])
        if len(position.shape) == 0:
            where = (0, 0, position, 0)
            key, value = ops.slice_update(key, where, new_key), ops.slice_update(value, where, new_value)
            seen = ops.less_equal(slots, position)
            output, scores = self._attend(query, key, value, seen, attention_bias)
            return output, key, value, scores
        here = ops.expand_dims(ops.equal(slots, positions), (1, 3))
        key, value = ops.where(here, new_key, key), ops.where(here, new_value, value)
        seen = ops.expand_dims(ops.less_equal(slots, positions), (1, 2))
        # zero the unseen values: 0 × NaN is NaN
        seen_value = ops.where(ops.swapaxes(seen, -1, -2), value, 0)
        output, scores = self._attend(query, key, seen_value, seen, attention_bias)
        return output, key, value, scores

    def prefill(
        self,
        inputs: Tensor,
        key: Tensor,
        value: Tensor,
        position: Tensor,
        lengths: Tensor,
        attention_bias: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Decode several positions of each row at once, and write them to the cache.

        Args:
            inputs: Vectors (B, P, D), shorter rows padded at their end.
            key: Cached keys (B, G, T, K).
            value: Cached values (B, G, T, K).
            position: Index of each row's first position in the cache (B,).
            lengths: Number of real positions of each row (B,), at most P. Padding is not written to the
                cache.
            attention_bias: Values that are added to the scores (B, H, P, T), or broadcast to them.

        Returns:
            The output (B, P, D), the new keys and values (B, G, T, K), and the weights (B, H, P, T).
        """
        queries = position[:, None] + ops.arange(ops.shape(inputs)[1])
        query, new_key, new_value = self._heads(inputs, queries)
        slots, first, end = ops.arange(ops.shape(key)[2]), position[:, None], (position + lengths)[:, None]
        # slot s receives the new position s - first, if the row has that many
        written = ops.expand_dims(ops.logical_and(slots >= first, slots < end), (1, 3))
        taken = ops.clip(slots - first, 0, ops.shape(inputs)[1] - 1)
        key, value = (
            ops.where(written, ops.take_along_axis(new, ops.expand_dims(taken, (1, 3)), axis=2), old)
            for new, old in ((new_key, key), (new_value, value))
        )
        filled = slots < end
        seen = ops.logical_and(slots <= queries[..., None], ops.expand_dims(filled, 1))
        seen_value = ops.where(ops.expand_dims(filled, (1, 3)), value, 0)
        output, scores = self._attend(query, key, seen_value, ops.expand_dims(seen, 1), attention_bias)
        return output, key, value, scores

    def compute_output_shape(self, inputs_shape: Shape) -> Shape:
        """Return the shape of the input."""
        return inputs_shape

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), **serialized(self, MultiHeadSelfAttention, later=("rotary",))}
