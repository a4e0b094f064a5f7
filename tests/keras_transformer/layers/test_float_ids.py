"""Keras declares ids as floats where a model does not say otherwise; the embedding takes them."""

import sys

import keras
import numpy as np
import pytest

import keras_transformer as kt
from tests.support import fork_server
from tests.support.compiling import JIT
from tests.support.layer_cases import IDS, LENGTH, REAL, VOCABULARY, WIDTH, number, same

tensorflow_only = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="the way of TensorFlow's backend alone"
)


@keras.saving.register_keras_serializable(package="tests")
class Classifier(keras.Model):
    """A subclassed model as in Keras' guides: no input is declared anywhere."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.embedding = kt.TokenEmbedding(VOCABULARY, WIDTH)
        self.encoder = kt.TransformerEncoder(num_layers=1, num_heads=2, inner_width=12)
        self.pooling = keras.layers.GlobalAveragePooling1D()
        self.head = keras.layers.Dense(2)

    def call(self, inputs):
        return self.head(self.pooling(self.encoder(self.embedding(inputs))))


@pytest.fixture(scope="module")
def classifier():
    keras.utils.set_random_seed(1)
    model = Classifier()
    model(IDS)
    return model


def test_floats_give_the_vectors_and_the_mask_of_their_ids():
    layer = kt.TokenEmbedding(VOCABULARY, WIDTH)

    vectors = layer(IDS.astype("float32"))

    same(vectors, layer(IDS), atol=0)
    # without the positions of padding: only so is the mask known to have come along
    same(keras.layers.GlobalAveragePooling1D()(vectors), keras.layers.GlobalAveragePooling1D()(layer(IDS)))


def test_ids_above_256_are_exact_in_mixed_precision():
    layer = kt.TokenEmbedding(1000, WIDTH, dtype="mixed_bfloat16")

    same(layer(np.array([[257.0, 999.0]], "float32")), layer(np.array([[257, 999]])), atol=0)


def test_the_reverse_of_vectors_keeps_the_mask_of_the_vectors():
    layer = kt.TokenEmbedding(VOCABULARY, WIDTH)
    logits = layer(layer(IDS.astype("float32")), reverse=True)

    expected = layer(kt.FeedForward(4)(layer(IDS)), reverse=True)
    for tensor in (logits, expected):
        np.testing.assert_array_equal(number(tensor._keras_mask), REAL)


def test_a_subclassed_model_loads_with_its_weights(classifier, tmp_path):
    classifier.save(tmp_path / "model.keras")

    loaded = keras.models.load_model(tmp_path / "model.keras")

    same(loaded(IDS), classifier(IDS), atol=1e-6)


def test_an_input_without_a_type_is_taken():
    ids = keras.Input((LENGTH,))
    layer = kt.TokenEmbedding(VOCABULARY, WIDTH)
    model = keras.Model(ids, keras.layers.GlobalAveragePooling1D()(layer(ids)))

    same(model.predict(IDS, verbose=0), keras.layers.GlobalAveragePooling1D()(layer(IDS)))


def test_a_sequential_model_without_an_input_is_fitted_saved_and_loaded(tmp_path):
    model = keras.Sequential(
        [kt.TokenEmbedding(VOCABULARY, WIDTH), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)]
    )
    model.compile("adam", "mse", jit_compile=JIT)
    model.fit(IDS, np.ones((len(IDS), 1)), verbose=0)
    model.save(tmp_path / "model.keras")

    same(keras.models.load_model(tmp_path / "model.keras")(IDS), model(IDS), atol=1e-6)


@tensorflow_only
def test_a_subclassed_model_is_exported(classifier, tmp_path):
    import tensorflow as tf

    classifier.export(str(tmp_path), verbose=False)

    served = tf.saved_model.load(str(tmp_path))
    same(served.serve(IDS.astype("float32")), classifier(IDS))


@tensorflow_only
def test_a_module_that_holds_layers_is_saved(classifier, tmp_path):
    import tensorflow as tf

    class Served(tf.Module):
        def __init__(self):
            super().__init__()
            self.model = classifier

        @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)])
        def classify(self, ids):
            return self.model(ids)

    tf.saved_model.save(Served(), str(tmp_path))

    served = tf.saved_model.load(str(tmp_path))
    same(served.classify(IDS), classifier(IDS))


MIRRORED = """
import sys
import keras
import numpy as np
import tensorflow as tf
import keras_transformer as kt
from keras_transformer.models.network import Network

two = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], two)
sizes = {"encoder_layers": 1, "decoder_layers": 1, "width": 8, "inner_width": 12, "num_heads": 2}
ids = np.random.default_rng(0).integers(0, 11, (8, 5)).astype("int32")
with tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
    keras.utils.set_random_seed(1)
    model = kt.TranslationModel(Network(**sizes, dropout=0.0, max_length=9), 11)
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
losses = model.fit({"source": ids, "target": ids}, ids, batch_size=4, epochs=2, verbose=0).history["loss"]
sys.exit(0 if losses[1] < losses[0] else 3)
"""


@tensorflow_only
def test_a_translation_model_is_fitted_on_two_devices():
    fork_server.run([sys.executable, "-c", MIRRORED], check=True, timeout=200)  # devices are set up once
