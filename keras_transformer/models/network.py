"""The sizes of a translation network, and the presets."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Self


@dataclass(frozen=True)
class Network:
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
        problems = [
            f"{name} must be a whole number of at least 1; got {getattr(self, name)!r}"
            for name in (
                "encoder_layers",
                "decoder_layers",
                "width",
                "inner_width",
                "num_heads",
                "max_length",
            )
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1
        ]
        problems += [
            f"{name} must be at least 0 and below 1; got {getattr(self, name)!r}"
            for name in ("dropout", "attention_dropout", "inner_dropout")
            if not 0 <= getattr(self, name) < 1
        ]
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

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """From what as_dict gave; a name it does not know is refused."""
        known = [field.name for field in fields(cls)]
        unknown = sorted(set(values) - set(known))
        if unknown:
            raise ValueError(f"a network has no {', '.join(unknown)}; it has {', '.join(known)}.")
        return cls(**values)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {"encoder_layers": 4, "decoder_layers": 4, "width": 128, "inner_width": 256, "num_heads": 4},
    "small": {"encoder_layers": 4, "decoder_layers": 4, "width": 256, "inner_width": 1024, "num_heads": 4},
    "base": {"encoder_layers": 6, "decoder_layers": 6, "width": 512, "inner_width": 2048, "num_heads": 8},
}
