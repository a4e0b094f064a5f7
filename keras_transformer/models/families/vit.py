"""ViT: a classifier of images.

B batch, H height, W width, P channels of a pixel, N patches, D width of a vector, C classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_transformer.layers import PositionalEncoding, TransformerEncoder
from keras_transformer.layers.arguments import arguments_of
from keras_transformer.layers.block import TransformerSettings
from keras_transformer.layers.class_token import ClassToken
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.tensor import Shape, Tensor
from keras_transformer.models.families.family import FamilyModel, activation_of
from keras_transformer.settings import Settings


@dataclass(frozen=True)
class ViTNetwork(Settings):
    """Sizes and options of ViT.

    Args:
        labels: Names of the classes.
        image_size: Height and width of an image in pixels.
        patch_size: Height and width of a patch; they divide those of the image.
        channels: Number of values of a pixel.
        num_layers: Number of encoder blocks.
        width: Width of the vectors between the blocks.
        inner_width: Width inside the feed-forward layers.
        num_heads: Number of attention heads; it divides the width.
        dropout: Dropout rate of embeddings and sublayers.
        attention_dropout: Dropout rate of attention weights.
        activation: Name of the feed-forward layers' activation in Keras, or "gelu_tanh".
        epsilon: Epsilon of the layer normalizations.
        mean: Mean of each channel, by which `ViT.pixels` normalizes values of 0 to 1.
        deviation: Standard deviation of each channel, by which it divides them.

    Raises:
        ValueError: With every value that is out of range.
    """

    labels: tuple[str, ...]
    image_size: tuple[int, int] = (224, 224)
    patch_size: tuple[int, int] = (16, 16)
    channels: int = 3
    num_layers: int = 12
    width: int = 768
    inner_width: int = 3072
    num_heads: int = 12
    dropout: float = 0.0
    attention_dropout: float = 0.0
    activation: str = "gelu"
    epsilon: float = 1e-12
    mean: tuple[float, ...] = (0.5,)
    deviation: tuple[float, ...] = (0.5,)

    def __post_init__(self) -> None:
        if isinstance(self.labels, str):
            raise ValueError(f"labels must be a list of the names of the classes; got {self.labels!r:.60}")
        for name in ("labels", "image_size", "patch_size", "mean", "deviation"):
            object.__setattr__(self, name, tuple(getattr(self, name)))  # JSON has lists
        problems = self._not_whole(1, "channels", "num_layers", "width", "inner_width", "num_heads")
        problems += self._not_shares("dropout", "attention_dropout")
        if not self.labels:
            problems.append("labels must be the names of the classes; got none")
        sizes = [*self.image_size, *self.patch_size]
        if not len(self.image_size) == len(self.patch_size) == 2 or not all(
            type(size) is int and size > 0 for size in sizes
        ):
            problems.append(
                f"image_size and patch_size must be a height and a width; got {self.image_size} and "
                f"{self.patch_size}"
            )
        elif any(image % patch for image, patch in zip(self.image_size, self.patch_size, strict=True)):
            problems.append(f"patch_size must divide image_size; got {self.patch_size} and {self.image_size}")
        if not {len(self.mean), len(self.deviation)} <= {1, self.channels} or 0 in self.deviation:
            problems.append(
                f"mean and deviation must have a value, or {self.channels}, and no deviation be 0; got "
                f"{self.mean} and {self.deviation}"
            )
        if not problems and self.width % self.num_heads:
            problems.append(f"width must be divisible by num_heads; got {self.width} and {self.num_heads}")
        if problems:
            raise ValueError("; ".join(problems))

    @property
    def patches(self) -> int:
        """Number of patches of an image."""
        height, width = (
            image // patch for image, patch in zip(self.image_size, self.patch_size, strict=True)
        )
        return height * width


@keras.saving.register_keras_serializable(package="keras_transformer")
class ViT(FamilyModel):
    """Vision transformer: pixels (B, H, W, P) -> logits of the classes (B, C).

    The image is cut into patches, a class token comes before them, and its output is classified.

    Args:
        network: Sizes and options.
        seed: Seed of the dropout.
        **kwargs: Arguments of keras.Model.

    Example:
        ```python
        model = ViT.from_pretrained("vit-base-patch16-224", labels=["cat", "dog"])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(1e-4), loss)
        model.fit(model.pixels(images), classes)
        model.classify(images)
        ```
    """

    network: ViTNetwork
    network_class = ViTNetwork
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"num_layers": 12, "width": 192, "inner_width": 768, "num_heads": 3},
        "small": {"num_layers": 12, "width": 384, "inner_width": 1536, "num_heads": 6},
        "base": {"num_layers": 12, "width": 768, "inner_width": 3072, "num_heads": 12},
        "large": {"num_layers": 24, "width": 1024, "inner_width": 4096, "num_heads": 16},
    }

    def __init__(self, network: ViTNetwork, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(network, seed, **kwargs)
        policy = self.dtype_policy
        self.patches = keras.layers.Conv2D(
            network.width,
            network.patch_size,
            strides=network.patch_size,
            data_format="channels_last",
            name="patches",
            dtype=policy,
        )
        self.class_token = ClassToken(name="class_token", dtype=policy)
        self.positions = PositionalEncoding(network.patches + 1, "learned", name="positions", dtype=policy)
        self.embedding_dropout = Dropout(network.dropout, seed=seed, dtype=policy)
        settings = arguments_of(network, TransformerSettings)
        settings["activation"] = activation_of(network.activation)
        self.encoder = TransformerEncoder(
            network.num_layers, norm_first=True, seed=seed, name="encoder", dtype=policy, **settings
        )
        self.classifier = keras.layers.Dense(len(network.labels), name="classifier", dtype=policy)

    @classmethod
    def from_pretrained(cls, path: str | Path, labels: Sequence[str] | None = None) -> Self:
        """Load a directory of Hugging Face transformers.

        Args:
            path: Directory with config.json, the weights as safetensors or pytorch_model.bin, and perhaps
                preprocessor_config.json. Nothing in it is executed.
            labels: Names of the classes of a new classifier with initial weights; None for the classifier of
                the directory.

        Returns:
            The model.

        Raises:
            PretrainedError: With everything that is wrong with the directory, or not supported; also if it
                has no classifier, and labels is None.
        """
        from keras_transformer.pretrained.families.vit import load_vit  # noqa: PLC0415

        return load_vit(cls, Path(path), labels)

    def build(self, inputs_shape: Any = None) -> None:
        """Create the weights; their shapes follow from the network alone."""
        network = self.network
        vectors: Shape = (None, None, network.width)
        self.patches.build((None, *network.image_size, network.channels))
        for layer in (self.class_token, self.positions, self.encoder):
            layer.build(vectors)
        self.classifier.build((None, network.width))
        self.built = True

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        """Classify images.

        Args:
            inputs: Pixels (B, H, W, P), normalized as `pixels` does.
            training: Whether dropout is active.

        Returns:
            Logits (B, C).

        Raises:
            ValueError: If the images have another size than the network's.
        """
        network = self.network
        expected = (*network.image_size, network.channels)
        if tuple(inputs.shape[1:]) != expected:
            raise ValueError(
                f"an image must have (height, width, channels) = {expected}; got a batch of shape "
                f"{tuple(inputs.shape)}."
            )
        x = ops.reshape(self.patches(inputs), (-1, network.patches, network.width))
        x = self.embedding_dropout(self.positions(self.class_token(x)))
        return self.classifier(self.encoder(x)[:, 0])

    def signature(self) -> Any:
        """Return the shape and the type of the pixels.

        Returns:
            A keras.InputSpec, in which None is any size.
        """
        shape = (None, *self.network.image_size, self.network.channels)
        return keras.InputSpec(shape=shape, dtype="float32", name="pixels")

    def pixels(self, images: NDArray[Any]) -> NDArray[np.float32]:
        """Normalize images for `call`, `fit` and `predict`.

        Args:
            images: Values from 0 to 255 (B, H, W, P), of the network's size.

        Returns:
            Pixels (B, H, W, P).
        """
        mean, deviation = (
            np.asarray(each, np.float32) for each in (self.network.mean, self.network.deviation)
        )
        return (np.asarray(images, np.float32) / np.float32(255) - mean) / deviation

    def classify(self, images: NDArray[Any], batch_size: int = 32) -> list[str]:
        """Classify images.

        Args:
            images: Values from 0 to 255 (B, H, W, P), of the network's size.
            batch_size: Number of images in a batch.

        Returns:
            The label of each image.
        """
        logits = self.predict(self.pixels(images), batch_size=batch_size, verbose=0)
        return [self.network.labels[index] for index in np.argmax(logits, axis=-1)]
