"""What decoder-only language models share: ids to logits, at once or step by step over a KV cache.

B batch, T length, P length of the longest prompt, D width, V vocabulary.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.decoding.greedy import State, StepFunction
from keras_transformer.layers import PositionalEncoding, TokenEmbedding, TransformerDecoder
from keras_transformer.layers.decoder.cache import DecoderCache
from keras_transformer.layers.tensor import Shape, Tensor
from keras_transformer.models.families.generation import GenerativeModel, Rows


class LanguageModel(GenerativeModel):
    """Base class of a decoder-only language model: token ids (B, T) -> logits of the next token (B, T, V).

    A subclass creates the layers. (A default of the class would hide a layer on the PyTorch backend.)

    Args:
        *args: Arguments of TextModel: network, tokenizer and seed.
        **kwargs: Arguments of keras.Model.
    """

    embedding: TokenEmbedding
    positions: PositionalEncoding | None
    embedding_dropout: Any
    decoder: TransformerDecoder
    untied_output: TokenEmbedding | None

    def _table(self, name: str) -> TokenEmbedding:
        """Create the embedding, or a table of its own for the output."""
        return TokenEmbedding(
            self.network.vocabulary_size,
            self.network.width,
            pad_id=None,
            scale=False,
            embeddings_initializer=keras.initializers.RandomNormal(stddev=0.02),
            name=name,
            dtype=self.dtype_policy,
        )

    def build(self, inputs_shape: Any = None) -> None:
        """Create the weights; their shapes follow from the network alone."""
        vectors: Shape = (None, None, self.network.width)
        self.embedding.build((None, None))
        for layer in (self.positions, self.decoder):
            if layer is not None:
                layer.build(vectors)
        if self.untied_output is not None:
            self.untied_output.build((None, None))
        self.built = True

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        """Compute the logits of the next token at every position.

        Args:
            inputs: Token ids (B, T). What pads a row follows its tokens, which do not see it.
            training: Whether dropout is active.

        Returns:
            Logits (B, T, V).
        """
        return self._logits(self.decoder(self._vectors(inputs)))

    def start(self, batch: int | Tensor, length: int | Tensor) -> DecoderCache:
        """Create an empty KV cache.

        Args:
            batch: Number of rows.
            length: Number of positions that each row has room for.

        Returns:
            The cache for `prefill` and `step`.
        """
        return self.decoder.start(batch, length)

    def prefill(self, inputs: Tensor, lengths: Tensor, cache: DecoderCache) -> tuple[Tensor, DecoderCache]:
        """Read the prompts of a new cache in one pass.

        Args:
            inputs: Token ids (B, P), shorter prompts padded at their end.
            lengths: Number of real tokens of each prompt (B,), from 0 to P.
            cache: The cache of `start`.

        Returns:
            Logits (B, P, V), which mean nothing at padding, and the new cache.
        """
        x, cache = self.decoder.prefill(self._vectors(inputs), cache, lengths)
        return self._logits(x), cache

    def step(self, token: Tensor, position: Tensor, cache: DecoderCache) -> tuple[Tensor, DecoderCache]:
        """Read one token of each row.

        Args:
            token: Token ids (B,).
            position: Position of the token, (B,) for each row its own, or () for all rows.
            cache: The cache that `start`, `prefill` or the last `step` returned.

        Returns:
            Logits (B, V) of the next token, and the new cache.
        """
        x = self.embedding(token[:, None])
        if self.positions is not None:
            x = x + self.positions.at(ops.convert_to_tensor(position)[..., None])
        x, cache = self.decoder.step(x, position, cache)
        return self._logits(x)[:, 0], cache

    def _vectors(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids)
        if self.positions is not None:
            x = self.positions(x)
        return x if self.embedding_dropout is None else self.embedding_dropout(x)

    def _logits(self, x: Tensor) -> Tensor:
        output = self.embedding if self.untied_output is None else self.untied_output
        return output(x, reverse=True)

    def _begin(self, prompts: Tensor, lengths: Tensor, longest: Tensor) -> tuple[StepFunction, State, Tensor]:
        """Read all tokens of the prompts but their last, which is the token before the first step."""
        rows, length = ops.shape(prompts)
        last = lengths - 1
        cache = self.start(rows, length + longest)
        _, cache = self.decoder.prefill(self._vectors(prompts), cache, last)  # their logits are not needed
        token = ops.take_along_axis(prompts, last[:, None], axis=1)[:, 0]
        return lambda token, index, cache: self.step(token, last + index, cache), cache, token

    def _seen(self, prompts: Rows) -> Rows:
        return prompts

    def _texts(self, prompts: Rows, found: Rows) -> list[str]:
        """Decode the whole text, since the space before a word is lost where a text begins."""
        decode = self.known_tokenizer().decode
        wholes = decode([*prompt, *new] for prompt, new in zip(prompts, found, strict=True))
        return [
            whole.removeprefix(before) if whole.startswith(before) else new
            for whole, before, new in zip(wholes, decode(prompts), decode(found), strict=True)
        ]
