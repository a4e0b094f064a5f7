"""Saving and loading of quantized weights together with their quantization mode."""

import json
from typing import Any

import keras
import numpy as np

_KEY = "quantization"  # in a weights file, beside the variables of the layer


class Quantizable(keras.layers.Layer):
    """Base class of layers whose weights file records which sublayers are quantized, and how.

    The configuration is not enough for that: the one of a composite layer does not describe its sublayers,
    and Keras does not save the one of a layer that a subclassed model creates. Loading quantizes the
    sublayers as they were saved.
    """

    def save_own_variables(self, store: Any) -> None:
        """Write the variables, and the quantization of the sublayers."""
        super().save_own_variables(store)
        quantized = {
            name: {
                "mode": layer.quantization_mode,
                "config": keras.saving.serialize_keras_object(layer.quantization_config),
            }
            for name, layer in self._parts().items()
            if layer.quantization_mode is not None
        }
        if quantized:
            store[_KEY] = np.frombuffer(json.dumps(quantized).encode(), np.uint8)

    def load_own_variables(self, store: Any) -> None:
        """Quantize the sublayers as they were saved, and read the variables."""
        variables = {name: store[name] for name in store.keys() if name != _KEY}  # noqa: SIM118  (no mapping)
        if self.built and len(variables) < len(store.keys()):
            parts = self._parts()
            for name, saved in json.loads(bytes(np.asarray(store[_KEY]))).items():
                if parts[name].quantization_mode != saved["mode"]:
                    config = keras.saving.deserialize_keras_object(saved["config"])
                    parts[name].quantize(saved["mode"], config=config)
        super().load_own_variables(variables)

    def _parts(self) -> dict[str, keras.layers.Layer]:
        """Return the sublayers that can be quantized, by names that do not depend on the model."""
        return {
            "" if layer is self else layer.name: layer
            for layer in self._flatten_layers()
            if isinstance(layer, keras.layers.Dense | keras.layers.Embedding)
        }
