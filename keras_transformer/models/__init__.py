"""Networks composed of the layers."""

from keras_transformer.models.network import PRESETS, Network
from keras_transformer.models.translation import TranslationModel

__all__ = ["PRESETS", "Network", "TranslationModel"]
