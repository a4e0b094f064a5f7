"""What a training run does, all of it said: a recipe. What depends on the corpus' size follows from it."""

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from keras_transformer.models.network import PRESETS

SCHEDULES = ("cosine", "inverse-sqrt")
PRECISIONS = ("float32", "bfloat16")
TOKENIZERS = ("bpe", "unigram")


@dataclass(frozen=True)
class Recipe:
    """The choices of a run. Every problem is reported at once."""

    preset: str = "tiny"
    dropout: float = 0.3
    attention_dropout: float = 0.0
    inner_dropout: float = 0.0
    tokenizer: str = "bpe"
    joint: bool = True
    vocabulary: int | None = None  # None: 8,000, or as many as the corpus supports
    max_tokens: int = 128  # longer sentences are cut there in training
    tokens: int = 8192  # in a step, padding included, of the longer side
    accumulate: int = 1  # micro-batches in a step
    steps: int = 4000
    schedule: str = "cosine"
    peak: float = 5e-3
    warm_up: int = 1000
    smoothing: float = 0.1
    clip: float = 1.0  # the norm of the gradients; 0 is none
    average: float = 0.998  # decay of the moving average of the weights; 0 is none
    validate_every: int = 250
    patience: int = 0  # validations without a better BLEU before the run stops; 0 is never
    precision: str = "float32"
    seed: int = 0

    def __post_init__(self) -> None:
        problems = [
            f"{name} must be one of {', '.join(choices)}; got {getattr(self, name)!r}"
            for name, choices in (
                ("preset", tuple(PRESETS)),
                ("tokenizer", TOKENIZERS),
                ("schedule", SCHEDULES),
                ("precision", PRECISIONS),
            )
            if getattr(self, name) not in choices
        ]
        problems += [
            f"{name} must be at least 1; got {getattr(self, name)}"
            for name in ("max_tokens", "tokens", "accumulate", "steps", "warm_up", "validate_every")
            if getattr(self, name) < 1
        ]
        problems += [
            f"{name} must be at least 0 and below 1; got {getattr(self, name)}"
            for name in ("dropout", "attention_dropout", "inner_dropout", "smoothing", "average")
            if not 0 <= getattr(self, name) < 1
        ]
        problems += [
            f"{name} must be at least 0 and finite; got {getattr(self, name)}"
            for name in ("clip", "patience", "seed")
            if not 0 <= getattr(self, name) < math.inf
        ]
        if self.seed >= 2**32:
            problems.append(f"seed must be below {2**32}; got {self.seed}")
        if not 0 < self.peak < math.inf:
            problems.append(f"peak must be above 0 and finite; got {self.peak}")
        if self.tokens < self.max_tokens:
            problems.append(
                f"a step of {self.tokens} tokens cannot hold a sentence of max_tokens={self.max_tokens}"
            )
        if self.schedule == "cosine" and self.warm_up >= self.steps:
            problems.append(f"warm_up must be below steps; got {self.warm_up} and {self.steps}")
        if problems:
            raise ValueError("; ".join(problems))

    @classmethod
    def for_corpus(cls, pairs: int, **said: Any) -> Self:
        """The defaults for so many pairs, but for what was said."""
        chosen = {**_by_size(pairs), **said}
        steps = chosen["steps"]
        chosen.setdefault("warm_up", max(1, min(1000, steps // 4)))
        chosen.setdefault("validate_every", max(1, steps // 16))
        return cls.from_dict(chosen)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        known = [field.name for field in fields(cls)]
        unknown = sorted(set(values) - set(known))
        if unknown:
            raise ValueError(f"a recipe has no {', '.join(unknown)}; it has {', '.join(known)}.")
        return cls(**values)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


#: The phrasebook's grammar is small, regular and new in every sentence: few pieces, no dropout, two minutes.
PHRASEBOOK: dict[str, Any] = {
    "vocabulary": 2000,
    "dropout": 0.0,
    "tokens": 4096,
    "steps": 450,
    "warm_up": 100,
    "validate_every": 100,
    "average": 0.99,
}


def _by_size(pairs: int) -> dict[str, Any]:
    """Small corpora: strong dropout, few steps. docs/decisions/recipe.md has what was measured."""
    if pairs < 50_000:
        return {"dropout": 0.3, "steps": 4000}
    if pairs < 500_000:
        return {"dropout": 0.2, "steps": 10_000}
    return {"dropout": 0.1, "steps": 50_000}
