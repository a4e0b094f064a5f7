"""What translation models of every architecture share: ids and texts in and out, saving and loading.

B batch, S source length, T target length, H heads, V target vocabulary.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import keras

from keras_transformer.decoding.tracing import Derived
from keras_transformer.layers.tensor import Tensor
from keras_transformer.models.inputs import holds_text, without_text, wrong_inputs
from keras_transformer.models.traced_once import TracedOnce
from keras_transformer.text.sentences import UNKNOWN, Lengths
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training import loss, optimizer, schedule  # noqa: F401  (a saved model may hold them)

if TYPE_CHECKING:
    from keras_transformer.models.translate import Hypothesis

PAD_ID = 0


class AttentionWeights(NamedTuple):
    """Attention weights of one pass, a list of layers for each kind of attention that the model has.

    Attributes:
        encoder: Self-attention of the encoder, each (B, H, S, S).
        decoder: Self-attention of the decoder, each (B, H, T, T).
        cross: Attention of the decoder to the source, each (B, H, T, S).
    """

    encoder: list[Tensor]
    decoder: list[Tensor]
    cross: list[Tensor]


class EncoderDecoder(TracedOnce):
    """Base class of the translation models, which differ in their networks.

    Inputs are {"source": (B, S), "target": (B, T)}, labels are (B, T). Sources end with the end id, targets
    begin with the start id, and labels are the target shifted by one position. Id 0 is padding everywhere.

    Args:
        network: Sizes and options of the network, an instance of `network_class`.
        source_vocabulary: Number of source ids.
        target_vocabulary: Number of target ids; None for one vocabulary and one embedding on both sides.
        tokenizer: Tokenizer of the model, which `translate` needs.
        lengths: Lengths of the lines in the training corpus; they decide how `translate` divides a text.
        seed: Seed of the dropout.
        **kwargs: Arguments of keras.Model.

    Raises:
        TypeError: If network is of another class.
    """

    network_class: ClassVar[Any]

    def __init__(
        self,
        network: Any,
        source_vocabulary: int,
        target_vocabulary: int | None = None,
        tokenizer: Tokenizer | None = None,
        lengths: Lengths = UNKNOWN,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(network, self.network_class):
            raise TypeError(
                f"network must be a {self.network_class.__name__}; got {network!r}. "
                f'{type(self).__name__}.from_preset("tiny", tokenizer=...) makes a model of a preset.'
            )
        super().__init__(**kwargs)
        self.network = network
        self.source_vocabulary = source_vocabulary
        self.target_vocabulary = target_vocabulary
        self.tokenizer = tokenizer
        self.lengths = lengths
        self.seed = seed
        self.derived = Derived(self)

    @classmethod
    def from_preset(
        cls,
        preset: str,
        tokenizer: Tokenizer,
        lengths: Lengths = UNKNOWN,
        seed: int | None = None,
        dtype: Any = None,
        **changes: Any,
    ) -> Self:
        """Create a model of a preset's sizes, with the vocabulary of a tokenizer.

        Args:
            preset: Name of a preset, such as "tiny".
            tokenizer: Tokenizer of the model.
            lengths: Lengths of the lines in the training corpus.
            seed: Seed of the dropout.
            dtype: Dtype or dtype policy of the layers; by default that of Keras.
            **changes: Fields of the network that differ from the preset, such as dropout=0.3.

        Returns:
            A model with initial weights.

        Raises:
            TypeError: If tokenizer is not a Tokenizer.
            ValueError: If there is no such preset, or a field is out of range.
        """
        if not isinstance(tokenizer, Tokenizer):
            raise TypeError(
                f"tokenizer must be a Tokenizer, which sets the vocabulary's size; got {tokenizer!r}. "
                f"Make one with Tokenizer.train(pairs). For a model of ids alone call {cls.__name__}("
                f"{cls.network_class.__name__}.from_preset({preset!r}), source_vocabulary=...)."
            )
        target = None if tokenizer.joint else tokenizer.target_size
        network = cls.network_class.from_preset(preset, **changes)
        model = cls(network, tokenizer.source_size, target, tokenizer, lengths, seed, dtype=dtype)
        model.build()
        return model

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load a model from a run directory or a .keras file.

        Args:
            path: The directory or the file.

        Returns:
            The model, with its tokenizer if it was saved with one.

        Raises:
            FileNotFoundError: If there is no model.
            TypeError: If the file holds a model of another class.
        """
        path = Path(path)
        file = path / "model.keras" if path.is_dir() else path
        if not file.is_file():
            raise FileNotFoundError(f"there is no model in {path}: {file} does not exist.")
        from keras_transformer.models import recurrent, translation  # noqa: F401, PLC0415  (registers them)

        model = keras.models.load_model(file)
        if not isinstance(model, cls):
            raise TypeError(f"{file} holds a {type(model).__name__}, not a {cls.__name__}.")
        return model

    @property
    def lengths(self) -> Lengths:
        """Lengths of the lines in the training corpus, at most the network's max_length."""
        return self._lengths

    @lengths.setter
    def lengths(self, lengths: Lengths) -> None:
        self._lengths = lengths.within(self.network.max_length)

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Check that the inputs are ids by name, then call the model."""
        if not isinstance(inputs, Mapping) or not {"source", "target"} <= inputs.keys() or holds_text(inputs):
            raise TypeError(wrong_inputs(inputs))
        return super().__call__(inputs, *args, **kwargs)

    def fit(self, x: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Train the model, as keras.Model.fit does.

        Args:
            x: Batches of ids, such as those of `text_batches`.
            *args: Other arguments of keras.Model.fit.
            **kwargs: Other arguments of keras.Model.fit.

        Returns:
            The history of the training.

        Raises:
            TypeError: If x holds text.
        """
        return super().fit(without_text(x), *args, **kwargs)

    def evaluate(self, x: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Compute the loss and the metrics, as keras.Model.evaluate does.

        Args:
            x: Batches of ids, such as those of `text_batches`.
            *args: Other arguments of keras.Model.evaluate.
            **kwargs: Other arguments of keras.Model.evaluate.

        Returns:
            The loss, or a list of the loss and the metrics.

        Raises:
            TypeError: If x holds text.
        """
        return super().evaluate(without_text(x), *args, **kwargs)

    def predict(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute logits, as keras.Model.predict does.

        Args:
            x: Batches of ids, such as those of `text_batches`.
            *args: Other arguments of keras.Model.predict.
            **kwargs: Other arguments of keras.Model.predict.

        Returns:
            Logits (B, T, V).

        Raises:
            TypeError: If x holds text. `translate` translates texts.
        """
        return super().predict(without_text(x), *args, **kwargs)

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        """Compute the logits of the next target token at every position.

        Args:
            inputs: {"source": (B, S), "target": (B, T)}, token ids.
            training: Whether dropout is active. Keras passes it only to a model that declares it, and from
                there to the layers.

        Returns:
            Logits (B, T, V). Those of forbidden tokens are unchanged.
        """
        return self._look(inputs)[0]

    def attend(self, inputs: dict[str, Tensor]) -> tuple[Tensor, AttentionWeights]:
        """Compute logits and all attention weights.

        Args:
            inputs: {"source": (B, S), "target": (B, T)}, token ids.

        Returns:
            Logits (B, T, V) from which a search chooses, those of forbidden tokens lowered; and the attention
            weights.
        """
        logits, attention = self._look(inputs)
        return self._choosable(logits), attention

    def _look(self, inputs: dict[str, Tensor]) -> tuple[Tensor, AttentionWeights]:
        """Compute logits (B, T, V) and all attention weights."""
        raise NotImplementedError

    def _choosable(self, logits: Tensor) -> Tensor:
        """Lower the logits of tokens that are never chosen."""
        return logits

    def translate(
        self,
        texts: Sequence[str],
        beam: int = 1,
        length_penalty: float = 1.0,
        target_language: str | None = None,
        loop_guard: bool = True,
    ) -> list[str]:
        """Translate texts.

        A text of several sentences is divided according to `lengths`, and the translations are joined. A
        blank text stays blank.

        Args:
            texts: Texts in the source language.
            beam: Width of the beam search; 1 is greedy decoding.
            length_penalty: Exponent of the length by which scores of a beam are divided.
            target_language: One of the tokenizer's target_languages, for a model that has several.
            loop_guard: Whether an answer that repeats itself gives way to the next one of the beam, or is
                cut after the first occurrence of what it repeats.

        Returns:
            The best translation of each text, in order.

        Raises:
            ValueError: If the model has no tokenizer, or an option is out of range.
            TypeError: If texts is not a list of texts.

        Example:
            ```python
            model = TranslationModel.load("build/demo/run")
            model.translate(["Je suis étudiant."], beam=4)
            ```
        """
        from keras_transformer.models.translate import translate  # noqa: PLC0415  (it loads ONNX Runtime)

        found = translate(self, texts, beam, length_penalty, target_language, loop_guard)
        return [translation.text for translation in found]

    def hypotheses(self, texts: Sequence[str], **options: Any) -> "list[list[Hypothesis]]":
        """Return several answers to each sentence, with scores and alignments.

        Args:
            texts: Sentences; they are not divided.
            **options: `beam`, `length_penalty`, `max_tokens`, `prefixes`, `alignment`, `target_language` and
                `loop_guard` of keras_transformer.models.translate.hypotheses.

        Returns:
            For each sentence a list of Hypothesis, best first: text, tokens, score, log_probs, alignment,
            finish_reason.
        """
        from keras_transformer.models.translate import hypotheses  # noqa: PLC0415

        return hypotheses(self, texts, **options)

    def export(self, filepath: str | Path, format: str = "tf_saved_model", **options: Any) -> None:  # noqa: A002
        """Export `call`, ids to logits, in a format of keras.Model.export.

        Batch and lengths are dynamic unless input_signature says otherwise. To write a version directory with
        search, tokenizer and the files of every runtime, use `keras-transformer export`.

        Args:
            filepath: Where to write; for "litert" it ends with ".tflite".
            format: A format of keras.Model.export.
            **options: Other arguments of keras.Model.export.
        """
        ids = {
            name: keras.InputSpec(shape=(None, None), dtype="int32", name=name)
            for name in ("source", "target")
        }
        super().export(filepath, format=format, **{"input_signature": [ids], **options})

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor for JSON."""
        own = {
            "network": self.network.as_dict(),
            "source_vocabulary": self.source_vocabulary,
            "target_vocabulary": self.target_vocabulary,
            "tokenizer": None if self.tokenizer is None else self.tokenizer.get_config(),
            "lengths": list(self.lengths),
            "seed": self.seed,
        }
        return {**super().get_config(), **own}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Create a model, without its weights, from the result of `get_config`.

        Args:
            config: The configuration.
        """
        network, tokenizer = cls.network_class.from_dict(config["network"]), config["tokenizer"]
        if tokenizer is not None:
            tokenizer = Tokenizer.from_config(tokenizer)
        lengths = Lengths(*config.get("lengths", UNKNOWN))
        return cls(**{**config, "network": network, "tokenizer": tokenizer, "lengths": lengths})

    def with_policy(self, dtype: str) -> Self:
        """Return a copy with the same weights under another dtype policy.

        Saved and exported models are float32 under any policy.

        Args:
            dtype: A dtype policy of Keras, such as "mixed_bfloat16".
        """
        config = {**self.get_config(), "dtype": dtype}
        copy = self.from_config(config)
        copy.build()
        copy.set_weights(self.get_weights())
        return copy
