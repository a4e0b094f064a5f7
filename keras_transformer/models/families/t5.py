"""T5: an encoder-decoder, v1.0 and v1.1 (FLAN-T5).

B batch, S source length, T target length, V vocabulary.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import keras
from keras import ops

from keras_transformer.decoding.greedy import State, StepFunction
from keras_transformer.layers import TokenEmbedding, TransformerDecoder, TransformerEncoder
from keras_transformer.layers.decoder.cache import DecoderCache
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.tensor import Shape, Tensor
from keras_transformer.models.families.family import activation_of
from keras_transformer.models.families.generation import GenerativeModel, GenerativeNetwork, Rows
from keras_transformer.text.subword_tokenizer import SubwordTokenizer


@dataclass(frozen=True)
class T5Network(GenerativeNetwork):
    """Sizes and options of T5. The defaults are those of v1.1.

    Args:
        vocabulary_size: Number of token ids.
        encoder_layers: Number of encoder blocks.
        decoder_layers: Number of decoder blocks.
        width: Width of the vectors between the blocks.
        inner_width: Width inside the feed-forward layers.
        num_heads: Number of attention heads.
        head_width: Width of a head.
        num_buckets: Number of buckets of the relative positions.
        max_distance: Distance from which all positions are in one bucket.
        dropout: Dropout rate.
        activation: Name of the feed-forward layers' activation in Keras, or "gelu_tanh".
        gated: Whether the feed-forward layers have a gate.
        epsilon: Epsilon of the RMS normalizations.
        score_scale: Factor of the attention scores; None for 1 / √head_width. T5's own weights need 1.
        tied_output: Whether the embedding computes the logits, or a separate table.
        scale_output: Whether the decoder's output is multiplied by 1 / √width before the logits.
        pad_id: Id of padding.
        start_id: Id of the token before every target.
        end_id: Id of the token that ends a text, or several such ids; None for none.

    Raises:
        ValueError: With every value that is out of range.
    """

    vocabulary_size: int
    encoder_layers: int = 8
    decoder_layers: int = 8
    width: int = 512
    inner_width: int = 1024
    num_heads: int = 6
    head_width: int = 64
    num_buckets: int = 32
    max_distance: int = 128
    dropout: float = 0.1
    activation: str = "gelu_tanh"
    gated: bool = True
    epsilon: float = 1e-6
    score_scale: float | None = None
    tied_output: bool = False
    scale_output: bool = False
    pad_id: int = 0
    start_id: int = 0
    end_id: int | tuple[int, ...] | None = 1

    def __post_init__(self) -> None:
        sizes = ("vocabulary_size", "encoder_layers", "decoder_layers", "width", "inner_width", "num_heads")
        problems = self._not_whole(1, *sizes, "head_width", "num_buckets", "max_distance")
        problems += self._not_whole(0, "pad_id", "start_id") + self._not_shares("dropout")
        problems += self._wrong_ends()
        if problems:
            raise ValueError("; ".join(problems))


@keras.saving.register_keras_serializable(package="keras_transformer")
class T5(GenerativeModel):
    """T5: {"source": (B, S), "target": (B, T)} token ids -> logits of the next target token (B, T, V).

    Targets begin with the start id, which is that of padding; labels are the target one position earlier. The
    padding of the source is hidden; that of the target follows its tokens, which do not see it.

    Args:
        network: Sizes and options.
        tokenizer: Tokenizer of the model, which `generate` needs for texts.
        seed: Seed of the dropout.
        **kwargs: Arguments of keras.Model.

    Example:
        ```python
        model = T5.from_pretrained("flan-t5-small")
        model.generate(["translate English to German: I am a student."])
        ```
    """

    network: T5Network
    network_class = T5Network
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {
            "encoder_layers": 2, "decoder_layers": 2, "width": 128, "inner_width": 256, "num_heads": 4,
            "head_width": 32,
        },
        "small": {},
        "base": {
            "encoder_layers": 12, "decoder_layers": 12, "width": 768, "inner_width": 2048, "num_heads": 12,
        },
        "large": {
            "encoder_layers": 24, "decoder_layers": 24, "width": 1024, "inner_width": 2816, "num_heads": 16,
        },
    }  # fmt: skip

    def __init__(
        self,
        network: T5Network,
        tokenizer: SubwordTokenizer | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(network, tokenizer, seed, **kwargs)
        policy = self.dtype_policy

        def table(name: str, spread: float) -> TokenEmbedding:
            return TokenEmbedding(
                network.vocabulary_size,
                network.width,
                pad_id=None,  # the start of a target has the id of padding
                scale=False,
                embeddings_initializer=keras.initializers.RandomNormal(stddev=spread),
                name=name,
                dtype=policy,
            )

        self.embedding = table("embedding", 1.0)
        self.dropout = Dropout(network.dropout, seed=seed, dtype=policy)
        settings: dict[str, Any] = {
            "num_heads": network.num_heads,
            "inner_width": network.inner_width,
            "dropout": network.dropout,
            "attention_dropout": network.dropout,
            "inner_dropout": network.dropout,
            "activation": activation_of(network.activation),
            "epsilon": network.epsilon,
            "normalization": "rms",
            "gated": network.gated,
            "use_bias": False,
            "attention_options": {"key_dim": network.head_width, "score_scale": network.score_scale},
            "relative_bias": {"num_buckets": network.num_buckets, "max_distance": network.max_distance},
            "seed": seed,
            "dtype": policy,
        }
        self.encoder = TransformerEncoder(network.encoder_layers, name="encoder", **settings)
        self.decoder = TransformerDecoder(network.decoder_layers, name="decoder", **settings)
        if not network.tied_output:
            self.untied_output = table("output", network.width**-0.5)

    @classmethod
    def _load(cls, path: Path) -> Self:
        from keras_transformer.pretrained.families.t5 import load_t5  # noqa: PLC0415

        return load_t5(cls, path)

    def build(self, inputs_shape: Any = None) -> None:
        """Create the weights; their shapes follow from the network alone."""
        vectors: Shape = (None, None, self.network.width)
        self.embedding.build((None, None))
        self.encoder.build(vectors)
        self.decoder.build(vectors, vectors)
        if not self.network.tied_output:
            self.untied_output.build((None, None))
        self.built = True

    def call(self, inputs: Mapping[str, Tensor], training: bool | None = None) -> Tensor:
        """Compute the logits of the next target token at every position.

        Args:
            inputs: {"source": (B, S), "target": (B, T)}, token ids.
            training: Whether dropout is active.

        Returns:
            Logits (B, T, V).

        Raises:
            TypeError: If the inputs are not ids by these names.
        """
        if not isinstance(inputs, Mapping) or not {"source", "target"} <= inputs.keys():
            raise TypeError(f'T5 reads {{"source": ids, "target": ids}}; got {inputs!r:.80}.')
        memory, real = self._encode(inputs["source"])
        decoded = self.decoder(self.dropout(self.embedding(inputs["target"])), memory, memory_mask=real)
        return self._logits(decoded)

    def signature(self) -> Any:
        """Return the shapes and types of the inputs.

        Returns:
            A dictionary of a keras.InputSpec for each; None is any size.
        """
        return {
            name: keras.InputSpec(shape=(None, None), dtype="int32", name=name)
            for name in ("source", "target")
        }

    def encode(self, source: Tensor, target_length: int | Tensor) -> DecoderCache:
        """Run the encoder, and start the cache of the decoder.

        Args:
            source: Token ids (B, S).
            target_length: Number of steps for which the cache has room.

        Returns:
            The cache for `step`.
        """
        memory, real = self._encode(source)
        return self.decoder.start(ops.shape(source)[0], target_length, memory, real)

    def step(self, token: Tensor, position: Tensor, cache: DecoderCache) -> tuple[Tensor, DecoderCache]:
        """Decode one token of each row.

        Args:
            token: Ids of the tokens before (B,), at first the start id.
            position: Index of the token, (B,) for each row its own, or () for all rows.
            cache: The cache that `encode` or the last `step` returned.

        Returns:
            Logits (B, V) of the next token, and the new cache.
        """
        x, cache = self.decoder.step(self.embedding(token[:, None]), position, cache)
        return self._logits(x)[:, 0], cache

    def _encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        real = ops.not_equal(source, self.network.pad_id)
        return self.dropout(self.encoder(self.dropout(self.embedding(source)), mask=real)), real

    def _logits(self, x: Tensor) -> Tensor:
        x = self.dropout(x)
        if self.network.scale_output:
            x = x * ops.cast(self.network.width**-0.5, x.dtype)
        return (self.embedding if self.network.tied_output else self.untied_output)(x, reverse=True)

    def _begin(self, prompts: Tensor, lengths: Tensor, longest: Tensor) -> tuple[StepFunction, State, Tensor]:
        start = ops.full((ops.shape(prompts)[0],), self.network.start_id, dtype="int32")
        return self.step, self.encode(prompts, longest), start

    def _seen(self, prompts: Rows) -> Rows:
        return [[] for _ in prompts]
