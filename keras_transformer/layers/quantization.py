"""Saving and loading of quantized weights together with how they are quantized."""

import json
from typing import Any

import keras
import numpy as np

_KEY = "quantization"  # in a weights file, beside the variables of the layer that owns the quantized ones


class Quantizable(keras.layers.Layer):
    """A layer whose weights file says which of its sublayers are quantized, and how.

    A configuration is not enough: that of a composite layer says nothing of its sublayers, and Keras does not
    keep that of a layer that a subclassed model makes. Loading quantizes the sublayers as they were saved.
    """

    def save_own_variables(self, store: Any) -> None:
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
        variables = {name: store[name] for name in store.keys() if name != _KEY}  # noqa: SIM118  (no mapping)
        if self.built and len(variables) < len(store.keys()):
            parts = self._parts()
            for name, saved in json.loads(bytes(np.asarray(store[_KEY]))).items():
                if parts[name].quantization_mode != saved["mode"]:
                    config = keras.saving.deserialize_keras_object(saved["config"])
                    parts[name].quantize(saved["mode"], config=config)
        super().load_own_variables(variables)

    def _parts(self) -> dict[str, keras.layers.Layer]:
        """What can be quantized, by names that do not depend on where the layer is used."""
        return {
            "" if layer is self else layer.name: layer
            for layer in self._flatten_layers()
            if isinstance(layer, keras.layers.Dense | keras.layers.Embedding)
        }
