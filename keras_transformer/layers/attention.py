"""Attention as layers: to another sequence, and to itself.

B batch, T target length, S source length, D width, H heads, K width of a head (D / H unless given).
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.arguments import check_flags
from keras_transformer.layers.dot_product import scaled_dot_product_attention
from keras_transformer.layers.heads import Attention, check_rank
from keras_transformer.layers.masks import both, causal_between, causal_mask, heads_mask
from keras_transformer.layers.tensor import Shape, Tensor, fits

__all__ = ["MultiHeadAttention", "MultiHeadSelfAttention", "scaled_dot_product_attention"]


@keras.saving.register_keras_serializable(package="keras_transformer")
class MultiHeadAttention(Attention):
    """Several heads of attention from a query (B, T, D) to a value (B, S, any width) -> (B, T, D).

    With the encoder's output as the value this is the decoder's cross-attention; keys and values are one
    fused projection of it. Called with a `key` (B, S, any width) at first, the layer has a projection of its
    own for each of the two. The implicit masks of value and key hide their padding; attention_mask,
    (B, T, S) or (B, H, T, S), and use_causal_mask combine with them. The implicit mask of the query passes
    through to the output, and its padded positions attend as the others do.

    Its arguments have the names that Keras gives them (see `Attention`), and those of a call its order.
    """

    def build(self, query_shape: Shape, value_shape: Shape, key_shape: Shape | None = None) -> None:
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
        """The output, and with return_attention_scores also the weights (B, H, T, S)."""
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
        """(B, S, any width) -> two of (B, H, S, K): computed once, however many steps look them up."""
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
        """(B, T, D), two of (B, H, S, K), a mask for (B, H, T, S) -> (B, T, D), (B, H, T, S)."""
        (query,) = self._split(self.query_projection(query), self.key_width)
        return self._attend(query, key, value, mask)

    def compute_output_shape(
        self, query_shape: Shape, value_shape: Shape, key_shape: Shape | None = None
    ) -> Shape:
        return query_shape


@keras.saving.register_keras_serializable(package="keras_transformer")
class MultiHeadSelfAttention(Attention):
    """Several heads of attention from a sequence to itself, (B, T, D) -> (B, T, D); one fused projection.

    The implicit mask hides padding from every query, and passes through to the output; attention_mask,
    (B, T, T) or (B, H, T, T), and use_causal_mask combine with it. Its arguments have the names that
    Keras gives them (see `Attention`).
    """

    def build(self, inputs_shape: Shape) -> None:
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
        """The output, and with return_attention_scores also the weights (B, H, T, T).

        Keras fills in `mask` where the input is the only tensor passed, and `inputs_mask` where it is not.
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
        """One position of each row over its cache: (B, 1, D), two of (B, H, T, K) -> (B, 1, D), both caches
        with this position written, and the weights (B, H, 1, T).

        `position` (B,) is each row's own, or () that of all: then one slice is written.
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
        """Write several positions of each row into its cache at once, and attend from all of them.

        (B, P, D), two of (B, H, T, K), where each row begins (B,) and how many of its P positions are real
        (B,) -> (B, P, D), both caches, and the weights (B, H, P, T).
        """
        query, new_key, new_value = self._split(self.query_key_value_projection(inputs), *self.head_widths)
        slots, first, end = ops.arange(ops.shape(key)[2]), position[:, None], (position + lengths)[:, None]
        # slot s takes the new position s - first, if the row has one
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
        return inputs_shape


def _check_batches(**sequences: Tensor | None) -> None:
    """Refuse what is not a sequence, sequences of different batches, and a key of another length."""
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
