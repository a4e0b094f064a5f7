"""A network that is small enough to search in every way, and the sizes of what it takes."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the batch and the queue are tested in a second, without Keras
    from keras_transformer import TranslationModel

END, LONGEST, VOCABULARY = 3, 40, 100


def small_network() -> "TranslationModel":
    import keras

    from keras_transformer import TranslationModel
    from keras_transformer.models.network import Network
    from tests.support.versions.random_weights import enliven

    keras.utils.set_random_seed(4)
    model = TranslationModel(Network(2, 2, 16, 24, 2, max_length=LONGEST), VOCABULARY)
    model.build()
    enliven(model)
    return model
