"""Iterators of tf.data that end at once, also in the `fit` of Keras on arrays."""

import functools
import sys


def end_at_once() -> None:
    """Turn off autotuning in every iterator of this process, if it has loaded TensorFlow.

    TensorFlow waits for that thread when an iterator ends: as long as the iterator lived, at most a minute.
    """
    if "tensorflow" not in sys.modules:
        return
    import tensorflow as tf

    create = tf.data.Dataset.__iter__
    if hasattr(create, "__wrapped__"):
        return
    options = tf.data.Options()
    options.autotune.enabled = False

    @functools.wraps(create)
    def iterator(dataset: tf.data.Dataset) -> object:
        return create(dataset.with_options(options))

    tf.data.Dataset.__iter__ = iterator
