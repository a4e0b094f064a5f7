"""A translation model is trained under tf.distribute, as any Keras model on TensorFlow."""

import sys

from tests.support import fork_server

# A process of its own: the logical devices are made before TensorFlow starts.
CODE = """
import numpy as np
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
import keras

from keras_transformer import LabelSmoothedCrossEntropy, TranslationModel
from keras_transformer.models.network import Network
from tests.support import fork_server

source = np.array([[5, 6, 3], [7, 3, 0], [8, 9, 3], [4, 3, 0]], np.int32)
labels, target = source[::-1], np.pad(source[::-1, :-1], ((0, 0), (1, 0)), constant_values=2)


def trained(strategy):
    keras.utils.set_random_seed(0)
    with strategy.scope():
        model = TranslationModel(Network(1, 1, 16, 16, 2, dropout=0.0), 12)
        model.build()
        # summed: the sum over two replicas is the sum over the batch, whatever tokens each of them has
        loss = LabelSmoothedCrossEntropy(0.1, reduction="sum")
        model.compile(keras.optimizers.SGD(0.01), loss, jit_compile=False)
    model.fit({"source": source, "target": target}, labels, batch_size=4, epochs=3, shuffle=False, verbose=0)
    return model.get_weights()


one, two = trained(tf.distribute.get_strategy()), trained(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]))
for alone, mirrored in zip(one, two, strict=True):
    np.testing.assert_allclose(alone, mirrored, rtol=0, atol=1e-5)
"""


def test_two_replicas_learn_what_one_learns() -> None:
    done = fork_server.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
