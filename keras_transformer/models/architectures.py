"""The architectures of translation models by name, as a recipe has them. No framework is loaded."""

from typing import Any, TypeAlias

from keras_transformer.models.network import PRESETS, Network
from keras_transformer.models.recurrent_network import RECURRENT_PRESETS, RecurrentNetwork

Configuration: TypeAlias = Network | RecurrentNetwork

#: The presets of each architecture.
ARCHITECTURES: dict[str, dict[str, dict[str, Any]]] = {
    "transformer": PRESETS,
    "recurrent": RECURRENT_PRESETS,
    "recurrent-attention": RECURRENT_PRESETS,
}
#: The configuration of each class of models, by the name that a .keras file has for it.
CONFIGURATIONS: dict[str, type[Configuration]] = {
    "TranslationModel": Network,
    "RecurrentTranslationModel": RecurrentNetwork,
}


def preset_of(architecture: str, preset: str, **rates: float) -> Configuration:
    """Create the configuration of a preset of an architecture.

    Args:
        architecture: Name of the architecture.
        preset: Name of one of its presets.
        **rates: Dropout rates.
    """
    if architecture == "transformer":
        return Network.from_preset(preset, **rates)
    attention = architecture == "recurrent-attention"
    return RecurrentNetwork.from_preset(preset, attention=attention).with_regularization(**rates)
