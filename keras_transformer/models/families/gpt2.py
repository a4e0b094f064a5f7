"""GPT-2: a decoder-only language model.

B batch, T length, V vocabulary.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import keras

from keras_transformer.layers import PositionalEncoding, TransformerDecoder
from keras_transformer.layers.arguments import arguments_of
from keras_transformer.layers.block import TransformerSettings
from keras_transformer.layers.dropout import Dropout
from keras_transformer.models.families.family import activation_of
from keras_transformer.models.families.generation import GenerativeNetwork, Rows
from keras_transformer.models.families.language_model import LanguageModel
from keras_transformer.text.subword_tokenizer import SubwordTokenizer


@dataclass(frozen=True)
class GPT2Network(GenerativeNetwork):
    """Sizes and options of GPT-2.

    Args:
        vocabulary_size: Number of token ids.
        num_layers: Number of blocks.
        width: Width of the vectors between the blocks.
        inner_width: Width inside the feed-forward layers.
        num_heads: Number of attention heads; it divides the width.
        dropout: Dropout rate of the sublayers.
        embedding_dropout: Dropout rate of the embeddings.
        attention_dropout: Dropout rate of attention weights.
        activation: Name of the feed-forward layers' activation in Keras, or "gelu_tanh".
        epsilon: Epsilon of the layer normalizations.
        max_length: Largest number of tokens of a text.
        score_scale: Factor of the attention scores; None for 1 / √(width / num_heads).
        tied_output: Whether the embedding computes the logits, or a separate table.
        end_id: Id of the token that ends a text, or several such ids; None for none.

    Raises:
        ValueError: With every value that is out of range.
    """

    vocabulary_size: int
    num_layers: int = 12
    width: int = 768
    inner_width: int = 3072
    num_heads: int = 12
    dropout: float = 0.1
    embedding_dropout: float = 0.1
    attention_dropout: float = 0.1
    activation: str = "gelu_tanh"
    epsilon: float = 1e-5
    max_length: int = 1024
    score_scale: float | None = None
    tied_output: bool = True
    end_id: int | tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        sizes = ("vocabulary_size", "num_layers", "width", "inner_width", "num_heads", "max_length")
        problems = self._not_whole(1, *sizes) + self._wrong_ends()
        problems += self._not_shares("dropout", "embedding_dropout", "attention_dropout")
        if not problems and self.width % self.num_heads:
            problems.append(f"width must be divisible by num_heads; got {self.width} and {self.num_heads}")
        if problems:
            raise ValueError("; ".join(problems))


@keras.saving.register_keras_serializable(package="keras_transformer")
class GPT2(LanguageModel):
    """GPT-2: token ids (B, T) -> logits of the next token (B, T, V).

    Train it on ids and the same ids one position later: `fit(ids[:, :-1], ids[:, 1:])`. Rows are padded at
    their end; weights of samples keep padding out of the loss.

    Args:
        network: Sizes and options.
        tokenizer: Tokenizer of the model, which `generate` needs for texts.
        seed: Seed of the dropout.
        **kwargs: Arguments of keras.Model.

    Example:
        ```python
        model = GPT2.from_pretrained("gpt2")
        model.generate(["Once upon a time"], max_new_tokens=40, temperature=0.8, top_p=0.9, seed=1)
        ```
    """

    network: GPT2Network
    network_class = GPT2Network
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"num_layers": 4, "width": 128, "inner_width": 512, "num_heads": 4, "max_length": 256},
        "small": {"num_layers": 12, "width": 768, "inner_width": 3072, "num_heads": 12},
        "medium": {"num_layers": 24, "width": 1024, "inner_width": 4096, "num_heads": 16},
        "large": {"num_layers": 36, "width": 1280, "inner_width": 5120, "num_heads": 20},
        "xl": {"num_layers": 48, "width": 1600, "inner_width": 6400, "num_heads": 25},
    }

    def __init__(
        self,
        network: GPT2Network,
        tokenizer: SubwordTokenizer | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(network, tokenizer, seed, **kwargs)
        policy = self.dtype_policy
        self.embedding = self._table("embedding")
        self.positions = PositionalEncoding(network.max_length, "learned", name="positions", dtype=policy)
        self.embedding_dropout = Dropout(network.embedding_dropout, seed=seed, dtype=policy)
        settings = arguments_of(network, TransformerSettings)
        settings["activation"] = activation_of(network.activation)
        self.decoder = TransformerDecoder(
            network.num_layers,
            attention_options={"score_scale": network.score_scale},
            seed=seed,
            name="decoder",
            dtype=policy,
            **settings,
        )
        self.untied_output = None if network.tied_output else self._table("output")

    @classmethod
    def _load(cls, path: Path) -> Self:
        from keras_transformer.pretrained.families.gpt2 import load_gpt2  # noqa: PLC0415

        return load_gpt2(cls, path)

    def _check_lengths(self, prompts: Rows, new_tokens: int) -> None:
        most = self.network.max_length
        for number, prompt in enumerate(prompts, start=1):
            if len(prompt) + new_tokens > most + 1:  # the last token is not read
                raise ValueError(
                    f"prompt {number} has {len(prompt)} tokens, and max_new_tokens is {new_tokens}; the "
                    f"network takes {most} positions. Shorten one of them."
                )
