"""The translation model: token ids in, logits out; text in, text out once it has a tokenizer.

B batch, S source length, T target length, D width, V target vocabulary.
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
from keras_transformer.layers.decoder import DecoderCache
from keras_transformer.layers.tensor import Shape, Tensor
from keras_transformer.models.inputs import holds_text, without_text, wrong_inputs
from keras_transformer.models.network import Network
from keras_transformer.text.sentences import UNKNOWN, Lengths
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training import loss, optimizer, schedule  # noqa: F401  (a saved model may hold them)

if TYPE_CHECKING:
    from keras_transformer.models.translate import Hypothesis

PAD_ID = 0
FORBIDDEN = -1e9  # is added to the logit of a token that is never chosen


class AttentionWeights(NamedTuple):
    """How much each position takes from each other one: a list of layers, each (B, H, from, to)."""

    encoder: list[Tensor]  # (B, H, S, S)
    decoder: list[Tensor]  # (B, H, T, T)
    cross: list[Tensor]  # (B, H, T, S)


class DecodingState(NamedTuple):
    """What goes from step to step."""

    cache: DecoderCache
    output: tuple[Tensor, ...]  # the output projection as the products of a step like it; () for one row


@keras.saving.register_keras_serializable(package="keras_transformer")
class TranslationModel(keras.Model):
    """An encoder and a decoder over token embeddings; the output projection is the target embedding.

    The network may give the projection a table of its own, or a bias, as imported models have them.

    Trained on {"source": (B, S), "target": (B, T)} with labels (B, T): the source ends with the end id, the
    target begins with the start id, the labels are the target one step on. Id 0 is padding everywhere.
    Without target_vocabulary one vocabulary, and one embedding, serves both sides. `lengths` of the lines of
    its corpus decide how `translate` divides a text. `seed` decides the dropout; the first weights follow
    keras.utils.set_random_seed.
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
        """tiny, small or base, with the tokenizer's vocabulary; `changes` are fields of the Network."""
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
        """The model of a run directory, or of a .keras file."""
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
        """Make a model of a MarianMT (OPUS-MT) directory as transformers saves it.

        Args:
            path: Holds config.json, model.safetensors or pytorch_model.bin, source.spm, target.spm and
                vocab.json. Nothing in it is executed.

        Returns:
            The model with its tokenizer. Its ids are numbered anew: 0 padding, 1 unknown, 2 start, 3 end,
            then the pieces in the order of vocab.json.

        Raises:
            PretrainedError: With everything that is wrong with the directory, or not supported.
        """
        from keras_transformer.pretrained.marian import load_marian  # noqa: PLC0415  (it reads safetensors)

        return load_marian(Path(path))

    @property
    def lengths(self) -> Lengths:
        """Of the lines of its corpus, as far as its positions go."""
        return self._lengths

    @lengths.setter
    def lengths(self, lengths: Lengths) -> None:
        self._lengths = lengths.within(self.network.max_length)

    def build(self, inputs_shape: Any = None) -> None:
        """Every weight follows from the network: no input is needed."""
        vectors: Shape = (None, None, self.network.width)
        for embedding in (self.source_embedding, self.target_embedding, self.projection()):
            if not embedding.built:
                embedding.build((None, None))
        self.positions.build(vectors)
        self.encoder.build(vectors)
        self.decoder.build(vectors, vectors)
        self.built = True

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(inputs, Mapping) or not {"source", "target"} <= inputs.keys() or holds_text(inputs):
            raise TypeError(wrong_inputs(inputs))
        return super().__call__(inputs, *args, **kwargs)

    def fit(self, x: Any = None, *args: Any, **kwargs: Any) -> Any:
        return super().fit(without_text(x), *args, **kwargs)

    def evaluate(self, x: Any = None, *args: Any, **kwargs: Any) -> Any:
        return super().evaluate(without_text(x), *args, **kwargs)

    def predict(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return super().predict(without_text(x), *args, **kwargs)

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        """{"source": (B, S), "target": (B, T)} -> logits (B, T, V), those of forbidden tokens as they are.

        Keras tells a model that it trains only if it asks, with `training`; the layers hear it from there.
        """
        return self._look(inputs)[0]

    def attend(self, inputs: dict[str, Tensor]) -> tuple[Tensor, AttentionWeights]:
        """{"source": (B, S), "target": (B, T)} -> logits (B, T, V) and every attention weight behind them.

        The logits are those that a search chooses from.
        """
        logits, attention = self._look(inputs)
        return self._choosable(logits), attention

    def projection(self) -> TokenEmbedding:
        """The embedding whose reverse gives the logits. No property: Keras would save it under this name."""
        return self.target_embedding if self.network.tied_output else self.untied_output

    def decoding_bias(self) -> Tensor | None:
        """(V,): what is added to the products of the projection where tokens are chosen, if anything is."""
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
        """(B, S) -> what `step` needs for target_length steps: the encoder runs here, and only here."""
        memory, _ = self._encode(source)
        cache = self.decoder.start(ops.shape(source)[0], target_length, memory, _real(source))
        # a single row takes the embedding as it lies: turning it round costs more than it saves
        return DecodingState(cache, () if source.shape[0] == 1 else self.projection().output_blocks())

    def step(self, token: Tensor, position: Tensor, state: DecodingState) -> tuple[Tensor, DecodingState]:
        """One token of each row (B,), at a position of its own (B,) or of all () -> logits (B, V), state."""
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
    ) -> list[str]:
        """The best answer to each text, in the order given. beam 1 is greedy.

        A text of several sentences is divided as the model's `lengths` say, and a blank one stays blank.
        """
        from keras_transformer.models.translate import translate  # noqa: PLC0415  (it loads ONNX Runtime)

        return translate(self, texts, beam, length_penalty, target_language)

    def hypotheses(self, texts: Sequence[str], **options: Any) -> "list[list[Hypothesis]]":
        """Each sentence's answers with their scores; the options are those of models.translate.hypotheses."""
        from keras_transformer.models.translate import hypotheses  # noqa: PLC0415

        return hypotheses(self, texts, **options)

    def export(self, filepath: str | Path, format: str = "tf_saved_model", **options: Any) -> None:  # noqa: A002
        """Export `call`, ids to logits, as Keras exports any model: "tf_saved_model", "onnx", "litert", ...

        Batch and lengths are dynamic unless input_signature says otherwise. A version directory, with the
        search, the tokenizer and every runtime's files, is written by `keras-transformer export`.

        Args:
            filepath: Where to; ".tflite" at its end for "litert".
            format: Of keras.Model.export.
            **options: Others of keras.Model.export.
        """
        ids = {
            name: keras.InputSpec(shape=(None, None), dtype="int32", name=name)
            for name in ("source", "target")
        }
        super().export(filepath, format=format, **{"input_signature": [ids], **options})

    def get_config(self) -> dict[str, Any]:
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
        network, tokenizer = Network.from_dict(config["network"]), config["tokenizer"]
        if tokenizer is not None:
            tokenizer = Tokenizer.from_config(tokenizer)
        lengths = Lengths(*config.get("lengths", UNKNOWN))
        return cls(**{**config, "network": network, "tokenizer": tokenizer, "lengths": lengths})

    def with_policy(self, dtype: str) -> Self:
        """A copy with the same weights under another dtype policy. What is saved or exported is float32."""
        config = {**self.get_config(), "dtype": dtype}
        copy = self.from_config(config)
        copy.build()
        copy.set_weights(self.get_weights())
        return copy


def _forbidden(ids: Sequence[int], size: int) -> Any:
    """(V,): FORBIDDEN for these ids, 0 for all others; None without ids."""
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
