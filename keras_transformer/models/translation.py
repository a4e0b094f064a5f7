"""The translation model: token ids to logits and, with a tokenizer, text to text.

B batch, S source length, T target length, D width, H heads, V target vocabulary.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_transformer.layers import (
    PositionalEncoding,
    TokenEmbedding,
    TransformerDecoder,
    TransformerEncoder,
)
from keras_transformer.layers.arguments import arguments_of
from keras_transformer.layers.block import TransformerSettings
from keras_transformer.layers.decoder.cache import DecoderCache
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.tensor import Shape, Tensor
from keras_transformer.models.encoder_decoder import PAD_ID, AttentionWeights, EncoderDecoder
from keras_transformer.models.network import Network
from keras_transformer.text.sentences import UNKNOWN, Lengths
from keras_transformer.text.tokenizer import Tokenizer

FORBIDDEN = -1e9  # added to the logit of a token that is never chosen


class DecodingState(NamedTuple):
    """State that is passed from one decoding step to the next.

    Attributes:
        cache: KV cache of the decoder.
        output: Blocks of the output projection in the layout for steps of several rows; () for a single row.
    """

    cache: DecoderCache
    output: tuple[Tensor, ...]


@keras.saving.register_keras_serializable(package="keras_transformer")
class TranslationModel(EncoderDecoder):
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

    network_class = Network

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
        super().__init__(network, source_vocabulary, target_vocabulary, tokenizer, lengths, seed, **kwargs)
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
        self.embedding_dropout = Dropout(network.dropout, seed=seed, dtype=policy)
        settings = {**arguments_of(network, TransformerSettings), "seed": seed, "dtype": policy}
        self.encoder = TransformerEncoder(network.encoder_layers, name="encoder", **settings)
        settings["num_heads"] = network.decoder_heads
        settings["inner_width"] = network.decoder_inner_width or network.inner_width
        self.decoder = TransformerDecoder(network.decoder_layers, name="decoder", **settings)

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
