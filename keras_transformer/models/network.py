"""The sizes of a translation network, and the presets."""

from dataclasses import dataclass
from typing import Any, Self

from keras_transformer.settings import Settings


@dataclass(frozen=True)
class Network(Settings):
    """Everything that decides what a translation network computes, but for its vocabulary and its weights."""

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

    def __post_init__(self) -> None:
        problems = self._not_whole(
            1, "encoder_layers", "decoder_layers", "width", "inner_width", "num_heads", "max_length"
        )
        problems += self._not_shares("dropout", "attention_dropout", "inner_dropout")
        if not problems and self.width % self.num_heads:
            problems.append(f"width must be divisible by num_heads; got {self.width} and {self.num_heads}")
        if problems:
            raise ValueError("; ".join(problems))

    @classmethod
    def from_preset(cls, name: str, **changes: Any) -> Self:
        """A preset, with any of its fields said otherwise."""
        if name not in PRESETS:
            raise ValueError(f"there is no preset {name!r}; there are {', '.join(PRESETS)}.")
        return cls.from_dict({**PRESETS[name], **changes})

    def parameters(self, source_vocabulary: int, target_vocabulary: int | None = None) -> int:
        """How many numbers are trained; without target_vocabulary both sides share one embedding."""
        width, inner = self.width, self.inner_width
        attention, feed_forward = 4 * (width * width + width), 2 * width * inner + inner + width
        norm = 2 * width
        encoder = self.encoder_layers * (attention + feed_forward + 2 * norm)
        decoder = self.decoder_layers * (2 * attention + feed_forward + 3 * norm)
        last_norms = 2 * norm if self.norm_first else 0
        return (source_vocabulary + (target_vocabulary or 0)) * width + encoder + decoder + last_norms


PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {"encoder_layers": 4, "decoder_layers": 4, "width": 128, "inner_width": 256, "num_heads": 4},
    "small": {"encoder_layers": 4, "decoder_layers": 4, "width": 256, "inner_width": 1024, "num_heads": 4},
    "base": {"encoder_layers": 6, "decoder_layers": 6, "width": 512, "inner_width": 2048, "num_heads": 8},
}
