"""Base class of settings: a frozen dataclass that is read from a dictionary and reports all wrong values.

Runs store their recipe in run.json and recipe.json; .keras files store the configuration of the loss and of
the schedule. Their readers pass the content through `current_names`. Former names are only read, never
written.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

#: The former names of training options, in files of earlier versions, and their current names.
FORMER_NAMES = {
    "accumulate": "gradient_accumulation_steps",
    "average": "ema_decay",
    "average_last": "average_checkpoints",
    "clip": "clip_norm",
    "every": "gradient_accumulation_steps",  # of a schedule
    "peak": "peak_learning_rate",
    "piece_dropout": "bpe_dropout",
    "smoothing": "label_smoothing",
    "tokens": "batch_tokens",
    "vocabulary": "vocabulary_size",
    "warm_up": "warmup_steps",
}


@dataclass(frozen=True)
class Settings:
    """Base class of Network and Recipe. A value of a wrong type is reported like a value out of range."""

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Create settings from the result of `as_dict`.

        Raises:
            ValueError: If a name is unknown, or a value out of range.
        """
        known = [field.name for field in fields(cls)]
        unknown = sorted(set(values) - set(known))
        if unknown:
            noun = cls.__name__.lower()
            raise ValueError(f"a {noun} has no {', '.join(unknown)}; it has {', '.join(known)}.")
        return cls(**values)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return asdict(self)

    def _not_whole(self, minimum: int, *names: str, maximum: int | None = None) -> list[str]:
        bounds = f"at least {minimum}" if maximum is None else f"at least {minimum} and at most {maximum:,}"
        return [
            f"{name} must be a whole number of {bounds}; got {value!r}"
            for name in names
            if not isinstance(value := getattr(self, name), int)
            or isinstance(value, bool)
            or value < minimum
            or (maximum is not None and value > maximum)
        ]

    def _not_shares(self, *names: str) -> list[str]:
        return [
            f"{name} must be at least 0 and below 1; got {value!r}"
            for name in names
            if not isinstance(value := getattr(self, name), int | float) or not 0 <= value < 1
        ]


def current_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """Replace former names among the keys by current ones.

    A former name beside its current one is kept, so that the reader reports it as unknown.
    """
    renamed = {}
    for name, value in values.items():
        current = FORMER_NAMES.get(name, name)
        renamed[name if current in values else current] = value
    return renamed
