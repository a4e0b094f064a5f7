"""The loss: cross-entropy with label smoothing, averaged over real tokens.

B batch, T length, V vocabulary.
"""

from typing import Any

import keras
import tensorflow as tf

from keras_transformer.layers.tensor import Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
class LabelSmoothedCrossEntropy(keras.losses.Loss):
    """-sum over v of q(v) log p(v), where q gives 1 - smoothing to the label and spreads the rest over all V.

    Labels (B, T), logits (B, T, V). Label 0 is padding and counts for nothing: neither in the sum nor, as
    the model's output carries the mask that Keras looks for, in the number of tokens of the mean.
    """

    def __init__(self, smoothing: float = 0.1, name: str = "cross_entropy", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)
        if not 0 <= smoothing < 1:
            raise ValueError(f"smoothing must be at least 0 and below 1; got {smoothing}.")
        self.smoothing = smoothing

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        return smoothed_cross_entropy(y_true, y_pred, tf.constant(self.smoothing, tf.float32))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "smoothing": self.smoothing}


# XLA for these lines alone: fused, the passes over the (tokens, V) logits, forward and back, take an
# eighth of the time that TensorFlow's kernels take one after the other (docs/decisions/loss-under-xla.md).
@tf.function(jit_compile=True, reduce_retracing=True)
def smoothed_cross_entropy(labels: Tensor, logits: Tensor, smoothing: Tensor) -> Tensor:
    """(B, T), (B, T, V) -> the loss of each token (B, T), 0 where the label is padding."""
    vocabulary = tf.shape(logits)[-1]
    labels = tf.cast(labels, tf.int32)
    spread = smoothing / tf.cast(vocabulary, tf.float32)
    expected = tf.one_hot(labels, vocabulary, on_value=1.0 - smoothing + spread, off_value=spread)
    loss = tf.nn.softmax_cross_entropy_with_logits(expected, tf.cast(logits, tf.float32))
    return tf.where(labels == 0, 0.0, loss)
