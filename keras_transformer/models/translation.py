"""The translation model: token ids to logits and, with a tokenizer, text to text.

B batch, S source length, T target length, D width, H heads, V target vocabulary.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import keras
import numpy as np
from keras import ops

from keras_transformer.decoding.tracing import Derived
from keras_transformer.layers import (
    PositionalEncoding,
    TokenEmbedding,
    TransformerDecoder,
    TransformerEncoder,
)
from keras_transformer.layers.arguments import arguments_of
from keras_transformer.layers.block import TransformerSettings
from keras_transformer.layers.decoder.cache import DecoderCache
from keras_transformer.layers.tensor import Shape, Tensor
from keras_transformer.models.inputs import holds_text, without_text, wrong_inputs
from keras_transformer.models.network import Network
from keras_transformer.text.sentences import UNKNOWN, Lengths
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training import loss, optimizer, schedule  # noqa: F401  (a saved model may hold them)

if TYPE_CHECKING:
    from keras_transformer.models.translate import Hypothesis

PAD_ID = 0
FORBIDDEN = -1e9  # added to the logit of a token that is never chosen


class AttentionWeights(NamedTuple):
    """Attention weights of one pass, a list of layers for each kind of attention.

    Attributes:
        encoder: Self-attention of the encoder, each (B, H, S, S).
        decoder: Self-attention of the decoder, each (B, H, T, T).
        cross: Attention of the decoder to the source, each (B, H, T, S).
    """

    encoder: list[Tensor]
    decoder: list[Tensor]
    cross: list[Tensor]


class DecodingState(NamedTuple):
    """State that is passed from one decoding step to the next.

    Attributes:
        cache: KV cache of the decoder.
        output: Blocks of the output projection in the layout for steps of several rows; () for a single row.
    """

    cache: DecoderCache
    output: tuple[Tensor, ...]


@keras.saving.register_keras_serializable(package="keras_transformer")
class TranslationModel(keras.Model):
    """Transformer encoder and decoder that translate token ids, and text if there is a tokenizer.

    Inputs are {"source": (B, S), "target": (B, T)}, labels are (B, T). Sources end with the end id, targets
    begin with the start id, and labels are the target shifted by one position. Id 0 is padding everywhere.

    The output projection is the target embedding unless the network has a table of its own for it.
    keras.utils.set_random_seed decides the initial weights.

    Args:
        network: Sizes and options of the network.
        source_vocabulary: Number of source ids.
        target_vocabulary: Number of target ids; None for one vocabulary and one embedding on both sides.
        tokenizer: Tokenizer of the model, which `translate` needs.
        lengths: Lengths of the lines in the training corpus; they decide how `translate` divides a text.
        seed: Seed of the dropout.
        **kwargs: Arguments of keras.Model.

    Raises:
        TypeError: If network is not a Network.

    Example:
        ```python
        tokenizer = Tokenizer.train(pairs, source_lang="fr", target_lang="en")
        model = TranslationModel.from_preset("tiny", tokenizer=tokenizer)
        model.compile("adam", LabelSmoothedCrossEntropy())
        model.fit(text_batches(pairs, tokenizer), epochs=10)
        model.translate(["Je suis étudiant."])  # ["I am a student."]
        ```
    """

    def __init__(
        self,
        network: Network,
        source_vocabulary: int,
        target_vocabulary: int | None = None,
        tokenizer: Tokenizer | None = None,
        lengths: Lengths = UNKNOWN,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(network, Network):
            raise TypeError(
                f"network must be a Network; got {network!r}. "
                'TranslationModel.from_preset("tiny", tokenizer=...) makes a model of a preset.'
            )
        super().__init__(**kwargs)
        self.network = network
        self.source_vocabulary = source_vocabulary
        self.target_vocabulary = target_vocabulary
        self.tokenizer = tokenizer
        self.lengths = lengths
        self.seed = seed
        self.derived = Derived(self)
        policy = self.dtype_policy

        def embedding(vocabulary: int, name: str, use_bias: bool = False) -> TokenEmbedding:
            return TokenEmbedding(
                vocabulary, network.width, PAD_ID, network.scale_embeddings,
                use_bias=use_bias, name=name, dtype=policy,
            )  # fmt: skip

        target_bias = network.output_bias and network.tied_output
        if target_vocabulary is None:
            shared = embedding(source_vocabulary, "embedding", target_bias)
            self.source_embedding = self.target_embedding = shared
        else:
            self.source_embedding = embedding(source_vocabulary, "source_embedding")
            self.target_embedding = embedding(target_vocabulary, "target_embedding", target_bias)
        size = target_vocabulary or source_vocabulary
        if not network.tied_output:
            self.untied_output = embedding(size, "output_embedding", network.output_bias)
        self._forbidden = _forbidden(network.forbidden, size)
        kind: Any = network.positions
        self.positions = PositionalEncoding(network.max_length, kind, name="positions", dtype=policy)
        self.embedding_dropout = keras.layers.Dropout(network.dropout, seed=seed, dtype=policy)
        settings = {**arguments_of(network, TransformerSettings), "seed": seed, "dtype": policy}
        self.encoder = TransformerEncoder(network.encoder_layers, name="encoder", **settings)
        settings["num_heads"] = network.decoder_heads
        settings["inner_width"] = network.decoder_inner_width or network.inner_width
        self.decoder = TransformerDecoder(network.decoder_layers, name="decoder", **settings)

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
                "Make one with Tokenizer.train(pairs). For a model of ids alone call "
                f"TranslationModel(Network.from_preset({preset!r}), source_vocabulary=...)."
            )
        target = None if tokenizer.joint else tokenizer.target_size
        network = Network.from_preset(preset, **changes)
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
        model = keras.models.load_model(file)
        if not isinstance(model, cls):
            raise TypeError(f"{file} holds a {type(model).__name__}, not a {cls.__name__}.")
        return model

    @classmethod
    def from_pretrained(cls, path: str | Path) -> "TranslationModel":
        """Load a MarianMT (OPUS-MT) directory as Hugging Face transformers saves it.

        Args:
            path: Directory with config.json, model.safetensors or pytorch_model.bin, source.spm, target.spm
                and vocab.json. Nothing in it is executed.

        Returns:
            The model with its tokenizer. Its ids are renumbered: 0 padding, 1 unknown, 2 start, 3 end, then
            the pieces in the order of vocab.json.

        Raises:
            PretrainedError: With everything that is wrong with the directory, or not supported.
        """
        from keras_transformer.pretrained.marian import load_marian  # noqa: PLC0415  (it reads safetensors)

        return load_marian(Path(path))

    @property
    def lengths(self) -> Lengths:
        """Lengths of the lines in the training corpus, at most the network's max_length."""
        return self._lengths

    @lengths.setter
    def lengths(self, lengths: Lengths) -> None:
        self._lengths = lengths.within(self.network.max_length)

    def build(self, inputs_shape: Any = None) -> None:
        """Create the weights; their shapes follow from the network alone."""
        vectors: Shape = (None, None, self.network.width)
        for embedding in (self.source_embedding, self.target_embedding, self.projection()):
            if not embedding.built:
                embedding.build((None, None))
        self.positions.build(vectors)
        self.encoder.build(vectors)
        self.decoder.build(vectors, vectors)
        self.built = True

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

    def projection(self) -> TokenEmbedding:
        """Return the embedding whose reverse computes the logits.

        It is a method, because Keras would save a property as another layer.

        Returns:
            The target embedding, or the separate table of a model with tied_output=False.
        """
        return self.target_embedding if self.network.tied_output else self.untied_output

    def decoding_bias(self) -> Tensor | None:
        """Return the values that a search adds to the products of the output projection.

        Returns:
            Output bias and the penalty of forbidden tokens (V,), or None if there is neither.
        """
        bias = ops.convert_to_tensor(self.projection().bias) if self.network.output_bias else None
        if self._forbidden is None:
            return bias
        return self._forbidden if bias is None else bias + self._forbidden

    def _choosable(self, logits: Tensor) -> Tensor:
        return logits if self._forbidden is None else logits + ops.cast(self._forbidden, logits.dtype)

    def _look(self, inputs: dict[str, Tensor]) -> tuple[Tensor, AttentionWeights]:
        source, target = inputs["source"], inputs["target"]
        memory, encoder = self._encode(source)
        x = self.embedding_dropout(self.positions(self.target_embedding(target)))
        decoded, decoder, cross = self.decoder(
            x, memory, inputs_mask=_real(target), memory_mask=_real(source), return_attention_scores=True
        )
        return self.projection()(decoded, reverse=True), AttentionWeights(encoder, decoder, cross)

    def _encode(self, source: Tensor) -> tuple[Tensor, list[Tensor]]:
        x = self.embedding_dropout(self.positions(self.source_embedding(source)))
        return self.encoder(x, mask=_real(source), return_attention_scores=True)

    def encode(self, source: Tensor, target_length: int | Tensor) -> DecodingState:
        """Run the encoder, and start the state of the decoder.

        Args:
            source: Token ids (B, S).
            target_length: Number of steps for which the state has room.

        Returns:
            The state for `step`.
        """
        memory, _ = self._encode(source)
        cache = self.decoder.start(ops.shape(source)[0], target_length, memory, _real(source))
        # a single row uses the table without transposing it, which would cost more than it saves
        return DecodingState(cache, () if source.shape[0] == 1 else self.projection().output_blocks())

    def step(self, token: Tensor, position: Tensor, state: DecodingState) -> tuple[Tensor, DecodingState]:
        """Decode one token of each row.

        Args:
            token: Ids of the tokens before (B,), at first the start id.
            position: Index of the token, (B,) for each row its own, or () for all rows.
            state: The state that `encode` or the last `step` returned.

        Returns:
            Logits (B, V) of the next token, and the new state.
        """
        where = ops.convert_to_tensor(position)
        x = self.target_embedding(token[:, None]) + self.positions.at(where[..., None])
        decoded, cache = self.decoder.step(x, where, state.cache)
        if state.output:
            products = [ops.matmul(decoded[:, 0], block) for block in state.output]
            logits = self.projection().with_bias(ops.concatenate(products, axis=1))
        else:
            logits = self.projection()(decoded, reverse=True)[:, 0]
        return self._choosable(logits), state._replace(cache=cache)

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
        network, tokenizer = Network.from_dict(config["network"]), config["tokenizer"]
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


def _forbidden(ids: Sequence[int], size: int) -> Any:
    """Return FORBIDDEN for these ids and 0 for all others (V,), or None without ids."""
    if not ids:
        return None
    outside = [number for number in ids if number >= size]
    if outside:
        raise ValueError(f"forbidden ids must be below {size}, the target's vocabulary; got {outside}.")
    values = np.zeros(size, np.float32)
    values[list(ids)] = FORBIDDEN
    return values


def _real(ids: Tensor) -> Tensor:
    return ops.not_equal(ids, PAD_ID)
