"""TensorFlow's part of a training on several workers: its cluster, and the exchange of gradients.

The scope of the strategy is never entered: `fit` runs as in one process (docs/decisions/several-machines.md).
"""

import math
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.layers.tensor import Tensor
from keras_transformer.training.cluster.workers import Workers
from keras_transformer.training.optimizer import Adam

GROUP_KEY = 1000  # of the workers, beside those that the strategy may use
BUCKET = 2**20  # numbers that are exchanged together
SEED_STRIDE = 0x9E3779B9  # between the seeds of two workers: no two layers have seeds so far apart


def start_tensorflow(workers: Workers) -> Any:
    """Start TensorFlow's cluster. This must precede the first operation of TensorFlow in the process.

    Args:
        workers: The workers, who have joined.

    Returns:
        What keeps the cluster alive.
    """
    addresses = tf.train.ClusterSpec({"worker": list(workers.addresses)})
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(addresses, "", "worker", workers.rank)
    return tf.distribute.MultiWorkerMirroredStrategy(resolver)


class ExchangingAdam(Adam):
    """Adam whose gradients are the mean over all workers, taken after accumulation and before clipping.

    Args:
        size: Number of workers.
        **options: Arguments of Adam.
    """

    def __init__(self, size: int, **options: Any) -> None:
        super().__init__(**options)
        self.size = size

    def _clip_gradients(self, grads: Sequence[Tensor]) -> Any:
        """Exchange, then clip. Keras calls this once for each step; `fit` has no public place there."""
        shapes = [variable.shape for variable in self._trainable_variables]
        return super()._clip_gradients(mean_over_workers(grads, shapes, self.size))


def mean_over_workers(
    gradients: Sequence[Tensor], shapes: Sequence[tuple[int, ...]], size: int
) -> list[Tensor]:
    """Return the mean of the gradients of all workers, with the same bits on each of them.

    They are exchanged in buckets, so that one travels while others are added or still computed.
    """
    sizes = [math.prod(shape) for shape in shapes]
    means: list[Tensor] = []
    for index, bucket in enumerate(_buckets(sizes)):
        flat = [tf.reshape(gradient, [-1]) for gradient in gradients[bucket]]
        mean = tf.raw_ops.CollectiveReduceV2(
            input=tf.concat(flat, 0) if len(flat) > 1 else flat[0],
            group_size=size,
            group_key=GROUP_KEY,
            instance_key=sum(sizes) + index,  # other models of the process have others
            ordering_token=[],
            merge_op="Add",
            final_op="Div",
            communication_hint="ring",
        )
        means += tf.split(mean, sizes[bucket]) if len(flat) > 1 else [mean]
    return [tf.reshape(mean, shape) for mean, shape in zip(means, shapes, strict=True)]


def _buckets(sizes: Sequence[int]) -> Iterator[slice]:
    """Divide gradients of these sizes into runs of at least BUCKET numbers; the last one has the rest."""
    start = 0
    for end in range(1, len(sizes) + 1):
        if sum(sizes[start:end]) >= BUCKET or end == len(sizes):
            yield slice(start, end)
            start = end


def offset_seeds(model: keras.Model, rank: int) -> None:
    """Give a worker dropout masks of its own: its seeds follow from those of worker 0, which are saved."""
    for variable in model.non_trainable_variables:
        if variable.name == "seed_generator_state":
            seed, masks_drawn = np.asarray(variable).tolist()
            variable.assign([(seed + rank * SEED_STRIDE) % 2**31, masks_drawn])


def fingerprint(variables: Sequence[Any]) -> str:
    """Return a digest of the values of variables."""
    digest = sha256()
    for variable in variables:
        digest.update(np.asarray(variable).tobytes())
    return digest.hexdigest()[:16]
