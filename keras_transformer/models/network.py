"""The configuration of a translation network, and the presets."""

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from keras_transformer.settings import Settings
from keras_transformer.text.lengths import AnswerLimit

POSITIONS = ("sinusoidal", "sinusoidal_halves")


@dataclass(frozen=True)
class Network(Settings):
    """Configuration of a translation network: its sizes and options, without vocabulary and weights.

    Args:
        encoder_layers: Number of encoder blocks.
        decoder_layers: Number of decoder blocks.
        width: Width of the vectors between the blocks.
        inner_width: Width inside the feed-forward layers.
        num_heads: Number of attention heads; it divides the width.
        dropout: Dropout rate of embeddings and sublayers.
        attention_dropout: Dropout rate of attention weights.
        inner_dropout: Dropout rate inside the feed-forward layers.
        activation: Name of the feed-forward layers' activation in Keras.
        norm_first: Whether each sublayer is normalized before (pre-norm) or after it (post-norm).
        max_length: Largest number of tokens of a source or an answer.
        decoder_inner_width: Width inside the decoder's feed-forward layers; None for inner_width.
        decoder_num_heads: Number of the decoder's attention heads; None for num_heads.
        positions: "sinusoidal" alternates sines and cosines; "sinusoidal_halves" has all sines first.
        scale_embeddings: Whether embeddings are multiplied by √width.
        tied_output: Whether the target's embedding computes the logits, or a separate table.
        output_bias: Whether a bias is added to the logits.
        answer_tokens: Length limit of answers to all sources; None for 2 S + 10 tokens, where S is the number
            of source tokens.
        forbidden: Ids that no answer contains.

    Raises:
        ValueError: With every value that is out of range.
    """

    #: Options that files of earlier releases do not have, and that are left out where they change nothing.
    optional: ClassVar[tuple[str, ...]] = (
        "decoder_inner_width",
        "decoder_num_heads",
        "positions",
        "scale_embeddings",
        "tied_output",
        "output_bias",
        "answer_tokens",
        "forbidden",
    )

    architecture: ClassVar[str] = "transformer"
    attention: ClassVar[bool] = True

    encoder_layers: int = 6
    decoder_layers: int = 6
    width: int = 512
    inner_width: int = 2048
    num_heads: int = 8
    dropout: float = 0.1
    attention_dropout: float = 0.0
    inner_dropout: float = 0.0
    activation: str = "relu"
    norm_first: bool = True
    max_length: int = 1024
    decoder_inner_width: int | None = None
    decoder_num_heads: int | None = None
    positions: str = "sinusoidal"
    scale_embeddings: bool = True
    tied_output: bool = True
    output_bias: bool = False
    answer_tokens: int | None = None
    forbidden: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "forbidden", tuple(self.forbidden))  # JSON has lists
        problems = self._not_whole(
            1, "encoder_layers", "decoder_layers", "width", "inner_width", "num_heads", "max_length"
        )
        problems += self._not_shares("dropout", "attention_dropout", "inner_dropout")
        given = ("decoder_inner_width", "decoder_num_heads", "answer_tokens")
        problems += self._not_whole(1, *(name for name in given if getattr(self, name) is not None))
        if self.positions not in POSITIONS:
            problems.append(f"positions must be one of {', '.join(POSITIONS)}; got {self.positions!r}")
        problems += [
            f"{name} must be true or false; got {value!r}"
            for name in ("scale_embeddings", "tied_output", "output_bias")
            if not isinstance(value := getattr(self, name), bool)
        ]
        if not all(type(number) is int and number >= 0 for number in self.forbidden):
            problems.append(f"forbidden must be ids; got {self.forbidden!r:.60}")
        for name in ("num_heads", "decoder_num_heads"):
            if not problems and self.width % (getattr(self, name) or 1):
                problems.append(
                    f"width must be divisible by {name}; got {self.width} and {getattr(self, name)}"
                )
        if problems:
            raise ValueError("; ".join(problems))

    @classmethod
    def from_preset(cls, name: str, **changes: Any) -> Self:
        """Create the configuration of a preset.

        Args:
            name: Name of a preset, such as "tiny".
            **changes: Fields that differ from the preset.

        Raises:
            ValueError: If there is no such preset, or a field is out of range.
        """
        if name not in PRESETS:
            raise ValueError(f"there is no preset {name!r}; there are {', '.join(PRESETS)}.")
        return cls.from_dict({**PRESETS[name], **changes})

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON, without the optional ones that have their default."""
        defaults = {field.name: field.default for field in fields(self) if field.name in self.optional}
        return {
            name: value
            for name, value in super().as_dict().items()
            if name not in defaults or value != defaults[name]
        }

    @property
    def preset(self) -> str | None:
        """Name of the preset that has these sizes, if one has."""
        values = self.as_dict()
        return next((name for name, sizes in PRESETS.items() if sizes.items() <= values.items()), None)

    @property
    def regularization(self) -> dict[str, float]:
        """The dropout rates by name."""
        return {name: getattr(self, name) for name in ("dropout", "attention_dropout", "inner_dropout")}

    def with_regularization(self, **rates: Any) -> Self:
        """Return the same network with other dropout rates.

        Args:
            **rates: The dropout rates by name.
        """
        return replace(self, **rates)

    @property
    def decoder_heads(self) -> int:
        """Number of attention heads of the decoder, in self-attention and cross-attention."""
        return self.decoder_num_heads or self.num_heads

    @property
    def answer_limit(self) -> AnswerLimit:
        """Limit of an answer's length for n source tokens; max_length applies as well."""
        return AnswerLimit(0, self.answer_tokens) if self.answer_tokens else AnswerLimit()

    def parameters(self, source_vocabulary: int, target_vocabulary: int | None = None) -> int:
        """Return the number of trained values.

        Args:
            source_vocabulary: Number of source ids.
            target_vocabulary: Number of target ids; None where both sides share one embedding.
        """
        width = self.width
        attention, norm = 4 * (width * width + width), 2 * width
        encoder = self.encoder_layers * (attention + self._feed_forward(self.inner_width) + 2 * norm)
        inner = self.decoder_inner_width or self.inner_width
        decoder = self.decoder_layers * (2 * attention + self._feed_forward(inner) + 3 * norm)
        last_norms = 2 * norm if self.norm_first else 0
        target = target_vocabulary or source_vocabulary
        tables = source_vocabulary + (target_vocabulary or 0) + (0 if self.tied_output else target)
        return tables * width + self.output_bias * target + encoder + decoder + last_norms

    def _feed_forward(self, inner: int) -> int:
        return 2 * self.width * inner + inner + self.width


PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {"encoder_layers": 4, "decoder_layers": 4, "width": 128, "inner_width": 256, "num_heads": 4},
    "small": {"encoder_layers": 4, "decoder_layers": 4, "width": 256, "inner_width": 1024, "num_heads": 4},
    "base": {"encoder_layers": 6, "decoder_layers": 6, "width": 512, "inner_width": 2048, "num_heads": 8},
    # cheap to decode with: an answer passes its decoder once for each token, a source its encoder once
    "student": {"encoder_layers": 6, "decoder_layers": 2, "width": 256, "inner_width": 1536, "num_heads": 8},
}
