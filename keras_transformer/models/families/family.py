"""Base classes of the families: a network's sizes, a tokenizer, and how a model is saved with both."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Self

import keras

from keras_transformer.layers.activations import gelu_erf, gelu_tanh
from keras_transformer.layers.tensor import Tensor
from keras_transformer.models.traced_once import TracedOnce
from keras_transformer.settings import Settings
from keras_transformer.text.subword_tokenizer import SubwordTokenizer


def activation_of(name: str) -> str | Callable[[Tensor], Tensor]:
    """Return what a layer takes for the name of an activation: "gelu_tanh", or a name of Keras."""
    known: dict[str, Callable[[Tensor], Tensor]] = {"gelu": gelu_erf, "gelu_tanh": gelu_tanh}
    return known.get(name, name)


class ExportableModel(TracedOnce):
    """Base class of a model whose inputs are known without a call."""

    def signature(self) -> Any:
        """Return the shapes and types of the inputs.

        Returns:
            A keras.InputSpec, in which None is any size, or a dictionary of them.
        """
        raise NotImplementedError

    def export(self, filepath: str | Path, format: str = "tf_saved_model", **options: Any) -> None:  # noqa: A002
        """Export `call` in a format of keras.Model.export, such as "onnx".

        Batch and lengths are dynamic unless input_signature says otherwise.

        Args:
            filepath: Where to write; for "onnx" it ends with ".onnx".
            format: A format of keras.Model.export.
            **options: Other arguments of keras.Model.export.
        """
        super().export(filepath, format=format, **{"input_signature": [self.signature()], **options})


class FamilyModel(ExportableModel):
    """Base class of a network that is described by a record of its sizes.

    Args:
        network: Sizes and options of the network, an instance of `network_class`.
        seed: Seed of the dropout.
        **kwargs: Arguments of keras.Model.

    Raises:
        TypeError: If network is of another class.
    """

    network_class: ClassVar[type[Settings]]
    presets: ClassVar[dict[str, dict[str, Any]]]

    def __init__(self, network: Any, seed: int | None = None, **kwargs: Any) -> None:
        if not isinstance(network, self.network_class):
            raise TypeError(
                f"network must be a {self.network_class.__name__}; got {network!r:.60}. "
                f"{type(self).__name__}.from_preset and from_pretrained make one."
            )
        super().__init__(**kwargs)
        self.network = network
        self.seed = seed

    @classmethod
    def from_preset(cls, preset: str, *, seed: int | None = None, dtype: Any = None, **changes: Any) -> Self:
        """Create a model of a preset's sizes, with initial weights.

        Args:
            preset: Name of a preset.
            seed: Seed of the dropout.
            dtype: Dtype or dtype policy of the layers; by default that of Keras.
            **changes: Fields of the network that differ from the preset.

        Returns:
            The model.

        Raises:
            ValueError: If there is no such preset, or a field is unknown or out of range.
        """
        if preset not in cls.presets:
            raise ValueError(f"there is no preset {preset!r}; there are {', '.join(cls.presets)}.")
        network = cls.network_class.from_dict({**cls.presets[preset], **changes})
        model = cls(network, seed=seed, dtype=dtype)
        model.build()
        return model

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor for JSON."""
        return {**super().get_config(), "network": self.network.as_dict(), "seed": self.seed}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Create a model, without its weights, from the result of `get_config`.

        Args:
            config: The configuration.
        """
        return cls(**{**config, "network": cls.network_class.from_dict(config["network"])})


class TextModel(FamilyModel):
    """Base class of a family that reads token ids, and text if there is a tokenizer.

    Args:
        network: Sizes and options of the network, an instance of `network_class`.
        tokenizer: Tokenizer of the model, which methods that take text need.
        seed: Seed of the dropout.
        **kwargs: Arguments of keras.Model.

    Raises:
        ValueError: If network and tokenizer have different ids of padding.
    """

    def __init__(
        self, network: Any, tokenizer: SubwordTokenizer | None = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(network, seed, **kwargs)
        self.tokenizer = self._fitting(tokenizer)

    def _fitting(self, tokenizer: SubwordTokenizer | None) -> SubwordTokenizer | None:
        """Return the tokenizer, which pads with the id that the network hides."""
        own = None if tokenizer is None else tokenizer.pad_id
        pad_id = getattr(self.network, "pad_id", own)
        if tokenizer is not None and pad_id != own:
            raise ValueError(f"the network has pad_id={pad_id}; the tokenizer has pad_id={own}.")
        return tokenizer

    def signature(self) -> Any:
        """Return the shape and the type of token ids.

        Returns:
            A keras.InputSpec, in which None is any size.
        """
        return keras.InputSpec(shape=(None, None), dtype="int32", name="ids")

    @classmethod
    def from_preset(cls, preset: str, tokenizer: SubwordTokenizer | None = None, **options: Any) -> Self:
        """Create a model of a preset's sizes, with initial weights.

        Args:
            preset: Name of a preset.
            tokenizer: Tokenizer of the model. It sets vocabulary_size, which is needed without one, and the
                pad_id of a network that has one.
            **options: `seed` and `dtype` as in the constructor, and fields of the network that differ from
                the preset.

        Returns:
            The model.

        Raises:
            ValueError: If there is no such preset, a field is unknown or out of range, or pad_id is not that
                of the tokenizer.
        """
        if tokenizer is not None:
            known = {field.name for field in fields(cls.network_class)}
            own = {"vocabulary_size": tokenizer.vocabulary_size, "pad_id": tokenizer.pad_id}
            options = {**{name: own[name] for name in own.keys() & known}, **options}
        model = super().from_preset(preset, **options)
        model.tokenizer = model._fitting(tokenizer)
        return model

    def known_tokenizer(self) -> SubwordTokenizer:
        """Return the tokenizer.

        Raises:
            ValueError: If the model has none.
        """
        if self.tokenizer is None:
            raise ValueError(
                f"this {type(self).__name__} has no tokenizer: pass ids, or give it a tokenizer."
            )
        return self.tokenizer

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor for JSON."""
        tokenizer = None if self.tokenizer is None else self.tokenizer.get_config()
        return {**super().get_config(), "tokenizer": tokenizer}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Create a model, without its weights, from the result of `get_config`.

        Args:
            config: The configuration.
        """
        tokenizer = config["tokenizer"] and SubwordTokenizer.from_config(config["tokenizer"])
        return super().from_config({**config, "tokenizer": tokenizer})
