"""The dataset that model.fit reads: the batches of a run's stages as a tf.data.Dataset.

B batch, S source length, T target length.
"""

from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from keras_transformer.text.buckets import Bucket
from keras_transformer.training.data.stages import Stage, Store

IDS = tf.TensorSpec((None, None), tf.int32)
WEIGHTS = tf.TensorSpec((None, None), tf.float32)
EXAMPLE = ({"source": IDS, "target": IDS}, IDS)


def dataset(
    stages: Sequence[Stage],
    start_id: int,
    start: int = 0,
    gradient_accumulation_steps: int = 1,
    rank: int = 0,
    workers: int = 1,
) -> Any:
    """Return a tf.data.Dataset of ({"source", "target"}, labels) from step `start` on, through all stages.

    With gradient_accumulation_steps > 1, each step has that many batches, and each batch has weights for a
    loss that is summed. The weights make the mean of the batches' gradients equal to the gradient of the mean
    over all tokens of the step, however the tokens are distributed over the batches. Of several workers each
    gets every `workers`-th batch of a step, from `rank` on.
    """

    def elements() -> Iterator[Any]:
        done = start
        for store, plan, steps in stages:
            lengths = store.lengths()[:, 1]
            planned = plan.batches(done * gradient_accumulation_steps)
            for _ in count() if steps is None else range(done, steps):
                group = list(islice(planned, gradient_accumulation_steps))
                tokens = sum(int(lengths[indices].sum()) for _, indices in group)
                for batch in group[rank::workers]:
                    inputs, labels = example(store, start_id, *batch)
                    weights = ((labels != 0) * (gradient_accumulation_steps / tokens)).astype(np.float32)
                    yield (inputs, labels) if gradient_accumulation_steps == 1 else (inputs, labels, weights)
            done = max(0, done - (steps or 0))

    signature = EXAMPLE if gradient_accumulation_steps == 1 else (*EXAMPLE, WEIGHTS)
    batches = tf.data.Dataset.from_generator(elements, output_signature=signature)
    return without_autotuning(batches.prefetch(2))


def without_autotuning(dataset: Any) -> Any:
    """Return the dataset without tf.data's autotuning thread; it has no parallel operations to tune.

    On a single processor core, TensorFlow 2.21 waits for that thread when an iterator ends: up to as long as
    the iterator lived, at most a minute.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)


def shifted(labels: NDArray[np.int32], start_id: int) -> NDArray[np.int32]:
    """Return the input of the decoder for labels (B, T): the start id, then all but the last real token."""
    target = np.roll(labels, 1, axis=1)
    target[:, 0] = start_id
    return np.where(labels == 0, 0, target)


def example(
    store: Store, start_id: int, bucket: Bucket, indices: NDArray[np.int64]
) -> tuple[dict[str, NDArray[np.int32]], NDArray[np.int32]]:
    """Return one batch: ({"source" (B, S), "target" (B, T)}, labels (B, T))."""
    labels = store.rows(1, indices, bucket.target_length)
    source = store.rows(0, indices, bucket.source_length)
    return {"source": source, "target": shifted(labels, start_id)}, labels
