"""BERT and DistilBERT: an encoder of text.

B batch, T length, D width.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_transformer.layers import PositionalEncoding, TokenEmbedding, TransformerEncoder
from keras_transformer.layers.arguments import arguments_of
from keras_transformer.layers.block import TransformerSettings
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.normalization import LayerNormalization
from keras_transformer.layers.tensor import Shape, Tensor
from keras_transformer.layers.token_types import TokenTypeEmbedding
from keras_transformer.models.families.family import TextModel, activation_of
from keras_transformer.settings import Settings
from keras_transformer.text.subword_tokenizer import SubwordTokenizer

Pooling = Literal["mean", "class"]


@dataclass(frozen=True)
class BertNetwork(Settings):
    """Sizes and options of BERT.

    Args:
        vocabulary_size: Number of token ids.
        num_layers: Number of encoder blocks.
        width: Width of the vectors between the blocks.
        inner_width: Width inside the feed-forward layers.
        num_heads: Number of attention heads; it divides the width.
        dropout: Dropout rate of embeddings and sublayers.
        attention_dropout: Dropout rate of attention weights.
        activation: Name of the feed-forward layers' activation in Keras, or "gelu_tanh".
        epsilon: Epsilon of the layer normalizations.
        max_length: Largest number of tokens of a text.
        token_types: Number of token types; 0 for none.
        pad_id: Id of padding; None if no id is padding.

    Raises:
        ValueError: With every value that is out of range.
    """

    vocabulary_size: int
    num_layers: int = 12
    width: int = 768
    inner_width: int = 3072
    num_heads: int = 12
    dropout: float = 0.1
    attention_dropout: float = 0.1
    activation: str = "gelu"
    epsilon: float = 1e-12
    max_length: int = 512
    token_types: int = 2
    pad_id: int | None = 0

    def __post_init__(self) -> None:
        problems = self._not_whole(
            1, "vocabulary_size", "num_layers", "width", "inner_width", "num_heads", "max_length"
        )
        problems += self._not_whole(0, "token_types") + self._not_shares("dropout", "attention_dropout")
        if not problems and self.width % self.num_heads:
            problems.append(f"width must be divisible by num_heads; got {self.width} and {self.num_heads}")
        if problems:
            raise ValueError("; ".join(problems))


@keras.saving.register_keras_serializable(package="keras_transformer")
class Bert(TextModel):
    """BERT: token ids (B, T) -> hidden states (B, T, D).

    Inputs are ids, or {"ids": (B, T), "token_types": (B, T)}. Padding is hidden from all other tokens, and
    the output carries the padding mask to the layers that follow.

    Args:
        network: Sizes and options.
        tokenizer: Tokenizer of the model, which `inputs` and `embed` need.
        seed: Seed of the dropout.
        **kwargs: Arguments of keras.Model.

    Example:
        ```python
        bert = Bert.from_pretrained("bert-base-uncased")
        hidden = bert(bert.inputs(["I am a student."]))
        vectors = bert.embed(["I am a student.", "Thank you."])
        ```
    """

    network: BertNetwork
    network_class = BertNetwork
    pooler_activation: ClassVar[str] = "tanh"  # of a classifier over this encoder
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"num_layers": 2, "width": 128, "inner_width": 512, "num_heads": 2},
        "mini": {"num_layers": 4, "width": 256, "inner_width": 1024, "num_heads": 4},
        "small": {"num_layers": 4, "width": 512, "inner_width": 2048, "num_heads": 8},
        "medium": {"num_layers": 8, "width": 512, "inner_width": 2048, "num_heads": 8},
        "base": {"num_layers": 12, "width": 768, "inner_width": 3072, "num_heads": 12},
        "large": {"num_layers": 24, "width": 1024, "inner_width": 4096, "num_heads": 16},
    }

    def __init__(
        self,
        network: BertNetwork,
        tokenizer: SubwordTokenizer | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(network, tokenizer, seed, **kwargs)
        policy = self.dtype_policy
        self.embedding = TokenEmbedding(
            network.vocabulary_size,
            network.width,
            network.pad_id,
            scale=False,
            embeddings_initializer=keras.initializers.RandomNormal(stddev=0.02),
            name="embedding",
            dtype=policy,
        )
        self.positions = PositionalEncoding(network.max_length, "learned", name="positions", dtype=policy)
        self.token_types = (
            TokenTypeEmbedding(network.token_types, name="token_types", dtype=policy)
            if network.token_types
            else None
        )
        self.embedding_norm = LayerNormalization(epsilon=network.epsilon, name="embedding_norm", dtype=policy)
        self.embedding_dropout = Dropout(network.dropout, seed=seed, dtype=policy)
        settings = arguments_of(network, TransformerSettings)
        settings["activation"] = activation_of(network.activation)
        self.encoder = TransformerEncoder(
            network.num_layers, norm_first=False, seed=seed, name="encoder", dtype=policy, **settings
        )
        self.supports_masking = True

    @classmethod
    def from_pretrained(cls, path: str | Path) -> Self:
        """Load a directory of Hugging Face transformers.

        Args:
            path: Directory with config.json, the weights as safetensors or pytorch_model.bin, and perhaps
                tokenizer.json or vocab.txt. Nothing in it is executed.

        Returns:
            The model, without the heads that the weights may have, and with the tokenizer if there is one.

        Raises:
            PretrainedError: With everything that is wrong with the directory, or not supported.
        """
        from keras_transformer.pretrained.families.bert import load_encoder  # noqa: PLC0415

        return load_encoder(cls, Path(path))

    def build(self, inputs_shape: Any = None) -> None:
        """Create the weights; their shapes follow from the network alone."""
        vectors: Shape = (None, None, self.network.width)
        self.embedding.build((None, None))
        for layer in (self.positions, self.token_types, self.embedding_norm, self.encoder):
            if layer is not None:
                layer.build(vectors)
        self.built = True

    def call(self, inputs: Any, training: bool | None = None) -> Tensor:
        """Encode token ids.

        Args:
            inputs: Ids (B, T), or {"ids": (B, T), "token_types": (B, T)}. Without types all are 0.
            training: Whether dropout is active.

        Returns:
            Hidden states (B, T, D).
        """
        ids, types = self._parts(inputs)
        x = self.embedding(ids)
        if self.token_types is not None:
            x = self.token_types(x, types)
        x = self.embedding_dropout(self.embedding_norm(self.positions(x)))
        return self.encoder(x, mask=self.real(ids))

    def real(self, inputs: Any) -> Tensor:
        """Return the padding mask of inputs.

        Args:
            inputs: Those of `call`.

        Returns:
            Mask (B, T), True for real tokens; None if no id is padding.
        """
        ids, _ = self._parts(inputs)
        return None if self.network.pad_id is None else ops.not_equal(ids, self.network.pad_id)

    def signature(self) -> Any:
        """Return the shapes and types of the inputs.

        Returns:
            A keras.InputSpec, in which None is any size, or a dictionary of them.
        """
        ids = super().signature()
        if not self.network.token_types:
            return ids
        return {
            "ids": ids,
            "token_types": keras.InputSpec(shape=(None, None), dtype="int32", name="token_types"),
        }

    def _parts(self, inputs: Any) -> tuple[Tensor, Tensor | None]:
        """Return the ids and the token types of inputs."""
        if not isinstance(inputs, Mapping):
            return inputs, None
        known = {"ids", "token_types"} if self.token_types is not None else {"ids"}
        if "ids" not in inputs or not inputs.keys() <= known:
            raise ValueError(
                f"{type(self).__name__} reads ids, or a dictionary with {' and '.join(sorted(known))}; got a "
                f"dictionary with {', '.join(map(repr, inputs)) or 'nothing'}."
            )
        return inputs["ids"], inputs.get("token_types")

    def compute_output_spec(self, inputs: Any, training: bool | None = None) -> Any:
        """Return the symbolic hidden states."""
        ids, _ = self._parts(inputs)  # not traced: JAX cannot compare an unknown length with max_length
        return keras.KerasTensor((*ids.shape, self.network.width), dtype=self.compute_dtype)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Tensor:
        """Return the padding mask (B, T)."""
        return self.real(inputs)

    def inputs(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> Any:
        """Encode texts for `call`, `fit` and `predict`.

        Args:
            texts: The texts. The end of those that are longer than the network's max_length is lost.
            pairs: The second text of each pair; None for single texts.

        Returns:
            {"ids": (B, T), "token_types": (B, T)}, or the ids alone for a network without token types.

        Raises:
            ValueError: If the model has no tokenizer, or texts and pairs differ in number.
            TypeError: If texts or pairs is a single text.
        """
        batch = self.known_tokenizer().batch(texts, pairs, self.network.max_length)
        return batch._asdict() if self.network.token_types else batch.ids

    def embed(
        self, texts: Sequence[str], pooling: Pooling = "mean", batch_size: int = 32
    ) -> NDArray[np.float32]:
        """Return one vector for each text.

        Args:
            texts: The texts.
            pooling: "mean" for the mean over the real tokens, "class" for the first token, [CLS].
            batch_size: Number of texts in a batch.

        Returns:
            Vectors (number of texts, D), not normalized.

        Raises:
            ValueError: If the model has no tokenizer, or pooling is unknown.
            TypeError: If texts is a single text.
        """
        if pooling not in get_args(Pooling):
            raise ValueError(f"pooling must be one of {', '.join(get_args(Pooling))}; got {pooling!r}.")
        inputs = self.inputs(texts)
        if len(texts) == 0:
            return np.zeros((0, self.network.width), np.float32)
        hidden = self.predict(inputs, batch_size=batch_size, verbose=0)
        if pooling == "class":
            return np.asarray(hidden[:, 0], np.float32)
        mask = self.real(inputs)
        real = np.ones(hidden.shape[:2]) if mask is None else ops.convert_to_numpy(mask)
        totals = (hidden * real[..., None]).sum(axis=1)
        return np.asarray(totals / real.sum(axis=1, keepdims=True), np.float32)


@keras.saving.register_keras_serializable(package="keras_transformer")
class DistilBert(Bert):
    """DistilBERT: token ids (B, T) -> hidden states (B, T, D). It is a BERT without token types.

    Args:
        network: Sizes and options.
        tokenizer: Tokenizer of the model, which `inputs` and `embed` need.
        seed: Seed of the dropout.
        **kwargs: Arguments of keras.Model.

    Example:
        ```python
        model = DistilBert.from_pretrained("distilbert-base-uncased")
        vectors = model.embed(["I am a student."], pooling="class")
        ```
    """

    pooler_activation: ClassVar[str] = "relu"
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "base": {"num_layers": 6, "width": 768, "inner_width": 3072, "num_heads": 12, "token_types": 0}
    }
