"""Llama: a decoder-only language model with rotary positions, RMS normalization and gated layers.

B batch, T length, V vocabulary.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import keras

from keras_transformer.layers import RotaryPositions, TransformerDecoder
from keras_transformer.models.families.family import activation_of
from keras_transformer.models.families.generation import GenerativeNetwork
from keras_transformer.models.families.language_model import LanguageModel
from keras_transformer.text.subword_tokenizer import SubwordTokenizer


@dataclass(frozen=True)
class LlamaNetwork(GenerativeNetwork):
    """Sizes and options of Llama.

    Args:
        vocabulary_size: Number of token ids.
        num_layers: Number of blocks.
        width: Width of the vectors between the blocks.
        inner_width: Width inside the feed-forward layers.
        num_heads: Number of attention heads.
        num_key_value_heads: Number of heads of keys and values; it divides num_heads. None for num_heads.
        head_width: Width of a head, an even number; None for width / num_heads.
        attention_dropout: Dropout rate of attention weights.
        activation: Name of the feed-forward layers' activation in Keras, or "gelu_tanh".
        epsilon: Epsilon of the RMS normalizations.
        attention_bias: Whether the projections of attention have biases.
        inner_bias: Whether the feed-forward layers have biases.
        rotary: Arguments of RotaryPositions that differ from its defaults.
        tied_output: Whether the embedding computes the logits, or a separate table.
        end_id: Id of the token that ends a text, or several such ids; None for none.

    Raises:
        ValueError: With every value that is out of range.
    """

    vocabulary_size: int
    num_layers: int = 16
    width: int = 2048
    inner_width: int = 8192
    num_heads: int = 32
    num_key_value_heads: int | None = None
    head_width: int | None = None
    attention_dropout: float = 0.0
    activation: str = "silu"
    epsilon: float = 1e-6
    attention_bias: bool = False
    inner_bias: bool = False
    rotary: tuple[tuple[str, Any], ...] = ()
    tied_output: bool = False
    end_id: int | tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        pairs = self.rotary.items() if isinstance(self.rotary, dict) else self.rotary
        object.__setattr__(self, "rotary", tuple((name, value) for name, value in pairs))  # JSON has lists
        optional = ("num_key_value_heads", "head_width")
        given = [name for name in optional if getattr(self, name) is not None]
        sizes = ("vocabulary_size", "num_layers", "width", "inner_width", "num_heads")
        problems = self._not_whole(1, *sizes, *given) + self._not_shares("attention_dropout")
        problems += self._wrong_ends()
        if not problems and self.num_heads % (self.num_key_value_heads or 1):
            problems.append(
                f"num_key_value_heads must divide num_heads, {self.num_heads}; got {self.num_key_value_heads}"
            )
        if not problems and self.head_width is None and self.width % self.num_heads:
            problems.append(f"width must be divisible by num_heads; got {self.width} and {self.num_heads}")
        if not problems and self.width_of_head % 2:
            problems.append(f"rotary positions need an even width of a head; got {self.width_of_head}")
        if problems:
            raise ValueError("; ".join(problems))
        RotaryPositions(**dict(self.rotary))

    @property
    def width_of_head(self) -> int:
        """Width of a head."""
        return self.head_width or self.width // self.num_heads


@keras.saving.register_keras_serializable(package="keras_transformer")
class Llama(LanguageModel):
    """Llama: token ids (B, T) -> logits of the next token (B, T, V).

    Train it on ids and the same ids one position later: `fit(ids[:, :-1], ids[:, 1:])`. Rows are padded at
    their end; weights of samples keep padding out of the loss.

    Args:
        network: Sizes and options.
        tokenizer: Tokenizer of the model, which `generate` needs for texts.
        seed: Seed of the dropout.
        **kwargs: Arguments of keras.Model.

    Example:
        ```python
        model = Llama.from_pretrained("Llama-3.2-1B")
        model.generate(["The capital of France is"], max_new_tokens=8)
        ```
    """

    network: LlamaNetwork
    network_class = LlamaNetwork
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"num_layers": 4, "width": 128, "inner_width": 352, "num_heads": 4, "num_key_value_heads": 2},
        "small": {
            "num_layers": 8, "width": 512, "inner_width": 1408, "num_heads": 8, "num_key_value_heads": 4,
        },
        "1b": {"num_key_value_heads": 8, "tied_output": True, "rotary": (("base", 5e5), ("factor", 32.0))},
    }  # fmt: skip

    def __init__(
        self,
        network: LlamaNetwork,
        tokenizer: SubwordTokenizer | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(network, tokenizer, seed, **kwargs)
        policy = self.dtype_policy
        self.embedding = self._table("embedding")
        self.positions = self.embedding_dropout = None
        self.decoder = TransformerDecoder(
            network.num_layers,
            num_heads=network.num_heads,
            inner_width=network.inner_width,
            dropout=0.0,
            attention_dropout=network.attention_dropout,
            activation=activation_of(network.activation),
            epsilon=network.epsilon,
            normalization="rms",
            gated=True,
            use_bias=network.inner_bias,
            attention_options={
                "num_key_value_heads": network.num_key_value_heads,
                "key_dim": network.width_of_head,
                "use_bias": network.attention_bias,
                "rotary": RotaryPositions(**dict(network.rotary)),
            },
            seed=seed,
            name="decoder",
            dtype=policy,
        )
        self.untied_output = None if network.tied_output else self._table("output")

    @classmethod
    def _load(cls, path: Path) -> Self:
        from keras_transformer.pretrained.families.llama import load_llama  # noqa: PLC0415

        return load_llama(cls, path)
