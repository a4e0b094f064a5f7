"""Models over BERT and DistilBERT: a classifier of texts, and a masked language model.

B batch, T length, D width, C classes, V vocabulary.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import keras
import numpy as np
from keras import ops

from keras_transformer.layers.arguments import check_rates
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.normalization import LayerNormalization
from keras_transformer.layers.tensor import Tensor
from keras_transformer.models.families.bert import Bert
from keras_transformer.models.families.family import ExportableModel, activation_of


class _Head(ExportableModel):
    """Base class of a model over an encoder, which is part of its configuration."""

    def __init__(self, encoder: Bert, **kwargs: Any) -> None:
        if not isinstance(encoder, Bert):
            raise TypeError(f"encoder must be a Bert or a DistilBert; got {encoder!r:.60}.")
        super().__init__(**kwargs)
        self.encoder = encoder

    def inputs(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> Any:
        """Encode texts for `call`, `fit` and `predict`, as the encoder's `inputs` does.

        Args:
            texts: The texts. The end of those that are longer than the network's max_length is lost.
            pairs: The second text of each pair; None for single texts.

        Returns:
            {"ids": (B, T), "token_types": (B, T)}, or the ids alone for a network without token types.

        Raises:
            ValueError: If the encoder has no tokenizer, or texts and pairs differ in number.
            TypeError: If texts or pairs is a single text.
        """
        return self.encoder.inputs(texts, pairs)

    def signature(self) -> Any:
        """Return the shapes and types of the inputs.

        Returns:
            A keras.InputSpec, in which None is any size, or a dictionary of them.
        """
        return self.encoder.signature()

    def _dense(self, name: str, width: int, activation: Any = None) -> keras.layers.Dense:
        initializer = keras.initializers.RandomNormal(stddev=0.02)
        return keras.layers.Dense(
            width, activation=activation, kernel_initializer=initializer, name=name, dtype=self.dtype_policy
        )

    def _build(self, *layers: keras.layers.Layer) -> None:
        if not self.encoder.built:
            self.encoder.build()
        for layer in layers:
            layer.build((None, self.encoder.network.width))
        self.built = True

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor for JSON."""
        return {**super().get_config(), "encoder": keras.saving.serialize_keras_object(self.encoder)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Create a model, without its weights, from the result of `get_config`.

        Args:
            config: The configuration.
        """
        return cls(**{**config, "encoder": keras.saving.deserialize_keras_object(config["encoder"])})


@keras.saving.register_keras_serializable(package="keras_transformer")
class TextClassifier(_Head):
    """Classifier of texts: token ids (B, T) -> logits (B, C), from the first token, [CLS].

    Args:
        encoder: The encoder.
        labels: Names of the classes.
        dropout: Share of the pooled vector to drop in training.
        **kwargs: Arguments of keras.Model.

    Raises:
        TypeError: If encoder is no Bert.
        ValueError: If there are no labels, or dropout is out of range.

    Example:
        ```python
        model = TextClassifier.from_pretrained("bert-base-uncased", labels=["negative", "positive"])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(2e-5), loss)
        model.fit(model.inputs(texts), classes)
        model.classify(["I like it."])
        ```
    """

    def __init__(self, encoder: Bert, labels: Sequence[str], dropout: float = 0.1, **kwargs: Any) -> None:
        if isinstance(labels, str) or not labels:
            raise ValueError(f"labels must be a list of the names of the classes; got {labels!r:.60}.")
        check_rates(dropout=dropout)
        super().__init__(encoder, **kwargs)
        self.labels = tuple(labels)
        self.dropout = dropout
        self.pooler = self._dense("pooler", encoder.network.width, encoder.pooler_activation)
        self.pooled_dropout = Dropout(dropout, dtype=self.dtype_policy)
        self.classifier = self._dense("classifier", len(self.labels))

    @classmethod
    def from_pretrained(cls, path: str | Path, labels: Sequence[str] | None = None) -> Self:
        """Load a directory of Hugging Face transformers, of BERT or DistilBERT.

        Args:
            path: Directory with config.json, the weights, and perhaps a tokenizer. Nothing in it is executed.
            labels: Names of the classes of a new classifier with initial weights; None for the classifier of
                the directory.

        Returns:
            The model, with its tokenizer if there is one.

        Raises:
            PretrainedError: With everything that is wrong with the directory, or not supported; also if it
                has no classifier, and labels is None.
        """
        from keras_transformer.pretrained.families.bert import load_classifier  # noqa: PLC0415

        return load_classifier(cls, Path(path), labels)

    def build(self, inputs_shape: Any = None) -> None:
        """Create the weights; their shapes follow from the encoder alone."""
        self._build(self.pooler, self.classifier)

    def call(self, inputs: Any, training: bool | None = None) -> Tensor:
        """Classify token ids.

        Args:
            inputs: Inputs of the encoder: ids (B, T), or {"ids": (B, T), "token_types": (B, T)}.
            training: Whether dropout is active.

        Returns:
            Logits (B, C).
        """
        return self.classifier(self.pooled_dropout(self.pooler(self.encoder(inputs)[:, 0])))

    def classify(self, texts: Sequence[str], batch_size: int = 32) -> list[str]:
        """Classify texts.

        Args:
            texts: The texts.
            batch_size: Number of texts in a batch.

        Returns:
            The label of each text.

        Raises:
            ValueError: If the encoder has no tokenizer.
            TypeError: If texts is a single text.
        """
        inputs = self.inputs(texts)
        if len(texts) == 0:
            return []
        logits = self.predict(inputs, batch_size=batch_size, verbose=0)
        return [self.labels[index] for index in np.argmax(logits, axis=-1)]

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor for JSON."""
        return {**super().get_config(), "labels": list(self.labels), "dropout": self.dropout}


@keras.saving.register_keras_serializable(package="keras_transformer")
class MaskedLanguageModel(_Head):
    """Masked language model: token ids (B, T) -> logits of the token at each position (B, T, V).

    The output projection is the embedding of the encoder.

    Args:
        encoder: The encoder.
        **kwargs: Arguments of keras.Model.

    Raises:
        TypeError: If encoder is no Bert.

    Example:
        ```python
        model = MaskedLanguageModel.from_pretrained("bert-base-uncased")
        model.fill("Paris is the [MASK] of France.")  # [[("capital", 0.99), ...]]
        ```
    """

    def __init__(self, encoder: Bert, **kwargs: Any) -> None:
        super().__init__(encoder, **kwargs)
        network = encoder.network
        self.transform = self._dense("transform", network.width, activation_of(network.activation))
        self.transform_norm = LayerNormalization(
            epsilon=network.epsilon, name="transform_norm", dtype=self.dtype_policy
        )

    @classmethod
    def from_pretrained(cls, path: str | Path) -> Self:
        """Load a directory of Hugging Face transformers, of BERT or DistilBERT.

        Args:
            path: Directory with config.json, the weights, and perhaps a tokenizer. Nothing in it is executed.

        Returns:
            The model, with its tokenizer if there is one.

        Raises:
            PretrainedError: With everything that is wrong with the directory, or not supported; also if it
                has no masked language model.
        """
        from keras_transformer.pretrained.families.bert import load_masked  # noqa: PLC0415

        return load_masked(cls, Path(path))

    def build(self, inputs_shape: Any = None) -> None:
        """Create the weights; their shapes follow from the encoder alone."""
        vocabulary_size = self.encoder.network.vocabulary_size
        self.bias = self.add_weight(name="bias", shape=(vocabulary_size,), initializer="zeros")
        self._build(self.transform, self.transform_norm)

    def call(self, inputs: Any, training: bool | None = None) -> Tensor:
        """Compute the logits of every position.

        Args:
            inputs: Inputs of the encoder: ids (B, T), or {"ids": (B, T), "token_types": (B, T)}.
            training: Whether dropout is active.

        Returns:
            Logits (B, T, V).
        """
        x = self.transform_norm(self.transform(self.encoder(inputs)))
        logits = self.encoder.embedding(x, reverse=True)
        return logits + ops.cast(self.bias, logits.dtype)

    def fill(self, text: str, count: int = 5) -> list[list[tuple[str, float]]]:
        """Return the likeliest tokens in place of each [MASK] of a text.

        Args:
            text: A text with [MASK] in it.
            count: Number of tokens for each place.

        Returns:
            For each [MASK] the tokens with their probabilities, likeliest first.

        Raises:
            ValueError: If the encoder has no tokenizer.
        """
        tokenizer = self.encoder.known_tokenizer()
        inputs = self.inputs([text])
        ids = inputs["ids"] if isinstance(inputs, dict) else inputs
        masked = np.flatnonzero(ids[0] == tokenizer.id_of("[MASK]"))
        probabilities = ops.convert_to_numpy(ops.softmax(self(inputs)[0]))[masked]
        known = probabilities[:, : tokenizer.vocabulary_size]  # a table may have rows for no token
        best = np.argsort(-known, axis=-1)[:, :count]
        return [
            [(tokenizer.token_of(token), float(row[token])) for token in tokens]
            for tokens, row in zip(best, known, strict=True)
        ]
