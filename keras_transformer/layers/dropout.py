"""Dropout that needs half of the random bits."""

import keras
from keras import ops

from keras_transformer.layers.tensor import Tensor

LEVELS = 2**16  # of a random number


@keras.saving.register_keras_serializable(package="keras_transformer")
class Dropout(keras.layers.Dropout):
    """Dropout as in Keras, with 16 random bits for each element on TensorFlow.

    Keras draws 32 bits for each element, which takes a seventh of a training step of preset small. In
    bfloat16 it uses seven of them, and a rate of 0.3 drops 30.5 %. Here the rate is exact to 1/65,536. On
    other backends, and with a noise_shape, this is Keras' own layer.
    """

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        """Set a share of the elements to 0 and scale up the others, in training only.

        Args:
            inputs: A tensor of any shape.
            training: Whether to drop anything.
        """
        dropped = round(self.rate * LEVELS)  # levels that mean 0
        own = keras.backend.backend() == "tensorflow" and self.noise_shape is None and 0 < dropped < LEVELS
        if not training or not own:
            return super().call(inputs, training=training)
        kept = _random_levels(inputs, self.seed_generator.next()) >= dropped
        scale = LEVELS / (LEVELS - dropped)
        return inputs * (ops.cast(kept, inputs.dtype) * scale)  # an infinite input that is dropped is nan


def _random_levels(like: Tensor, seed: Tensor) -> Tensor:
    """Draw a whole number below LEVELS for each element of a tensor; one number of 32 bits gives two."""
    import tensorflow as tf  # noqa: PLC0415

    count = tf.size(like, out_type=tf.int64)
    pairs = tf.random.stateless_uniform([(count + 1) // 2], tf.cast(seed, tf.int32), None, None, tf.uint32)
    return tf.reshape(tf.reshape(tf.bitcast(pairs, tf.uint16), [-1])[:count], tf.shape(like))
