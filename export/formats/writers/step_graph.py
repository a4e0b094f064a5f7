"""The encoder and one decoding step of a SavedModel, for a scheduler that decodes many sentences at once.

B batch, S source length, T positions of the cache, L layers of the decoder, H heads, K width of a head.
"""

from typing import Any

import tensorflow as tf

from export.formats.writers.greedy_graph import highest_log_prob
from keras_transformer.layers.decoder.cache import BlockCache, DecoderCache
from keras_transformer.models.translation import DecodingState, TranslationModel

ROW = tf.int32  # type of the inputs with a number for each row


class StepGraph:
    """Functions of the signatures `encode` and `step`."""

    def __init__(self, model: TranslationModel) -> None:
        self.model = model
        network = model.network
        self.layers = network.decoder_layers
        heads = network.decoder_heads
        parts = (2 * self.layers, None, heads, None, network.width // heads)
        self.step_input = [
            *(tf.TensorSpec([None], ROW, name) for name in ("token", "position", "memory_length")),
            *(tf.TensorSpec(parts, tf.float32, name) for name in ("memory", "cache")),
        ]

    def encode(self, source: Any) -> dict[str, Any]:
        """Encode source (B, S) -> memory (2 L, B, H, S, K), the keys and values of each decoder layer."""
        blocks = self.model.encode(source, 0).cache.blocks
        return {
            "memory": tf.stack([part for each in blocks for part in (each.memory_key, each.memory_value)])
        }

    def step(self, token: Any, position: Any, memory_length: Any, memory: Any, cache: Any) -> dict[str, Any]:
        """Decode one token of each row.

        Args:
            token: Last token of each row (B,).
            position: Index of the new position (B,).
            memory_length: Number of real positions in the memory of each row (B,); the others are ignored.
            memory: Result of `encode` (2 L, B, H, S, K).
            cache: Keys and values (2 L, B, H, T, K) with room for the position.

        Returns:
            `next` (B,), its `log_prob` (B,), and the cache with the new position as `cache_written`.
        """
        mask = tf.sequence_mask(memory_length, tf.shape(memory)[3])[:, None, None]
        parts = [tf.unstack(each, 2 * self.layers) for each in (cache, memory)]
        blocks = tuple(
            BlockCache(*(kind[2 * layer + side] for kind in parts for side in (0, 1)))
            for layer in range(self.layers)
        )
        state = DecodingState(DecoderCache(blocks, mask), ())
        logits, after = self.model.step(token, position, state)
        written = [part for each in after.cache.blocks for part in (each.key, each.value)]
        return {
            "next": tf.argmax(logits, axis=1, output_type=ROW),
            "log_prob": highest_log_prob(logits)[:, 0],
            "cache_written": tf.stack(written),
        }
