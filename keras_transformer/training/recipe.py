"""What a training run does, all of it said: a recipe. What depends on the corpus' size follows from it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from keras_transformer.models.network import PRESETS, Network
from keras_transformer.settings import Settings
from keras_transformer.text.pieces import FEWEST_PIECES
from keras_transformer.training.history import best

SCHEDULES = ("cosine", "inverse-sqrt")
PRECISIONS = ("float32", "bfloat16")
TOKENIZERS = ("bpe", "unigram")
MAX_STEPS = 10_000_000  # a hundred times what the paper's large model takes, and more
MAX_TOKENS = 2**20  # of a batch
MAX_ACCUMULATED = 10_000  # batches of a step
MAX_AVERAGED = 1000  # validations, of each of which a checkpoint is kept
MAX_PIECES = 2**18  # more than the vocabularies that serve 200 languages have
MAX_PEAK = 10.0


@dataclass(frozen=True)
class Recipe(Settings):
    """The choices of a run. Every problem is reported at once."""

    preset: str = "tiny"
    dropout: float = 0.3
    attention_dropout: float = 0.0
    inner_dropout: float = 0.0
    piece_dropout: float = 0.0  # share of the joints of pieces left out, anew each time a pair is seen
    both_ways: float = 0.0  # share of the steps, the first ones, that see every pair in both directions
    tokenizer: str = "bpe"
    joint: bool = True
    vocabulary: int | None = None  # None: 8,000, or as many as the corpus supports
    max_tokens: int = 128  # longer sentences are cut there in training
    tokens: int = 8192  # in a step, padding included, of the longer side
    accumulate: int = 1  # micro-batches in a step
    steps: int = 10_000
    schedule: str = "cosine"
    peak: float = 5e-3
    warm_up: int = 1000
    smoothing: float = 0.1
    clip: float = 1.0  # the norm of the gradients; 0 is none
    average: float = 0.998  # decay of the moving average of the weights; 0 is none
    average_last: int = 0  # the mean of the weights at so many last validations instead; 0 is none
    validate_every: int = 250
    patience: int = 0  # validations without a better one before the run stops; 0 is never
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
        problems += self._not_whole(1, "max_tokens", most=Network.max_length)
        problems += self._not_whole(1, "tokens", most=MAX_TOKENS)
        problems += self._not_whole(1, "accumulate", most=MAX_ACCUMULATED)
        problems += self._not_whole(1, "steps", "warm_up", "validate_every", most=MAX_STEPS)
        problems += self._not_whole(0, "patience", most=MAX_STEPS)
        problems += self._not_whole(0, "average_last", most=MAX_AVERAGED)
        problems += self._not_whole(0, "seed", most=2**32 - 1)
        if self.vocabulary is not None:
            problems += self._not_whole(FEWEST_PIECES, "vocabulary", most=MAX_PIECES)
        problems += self._not_shares(
            "dropout",
            "attention_dropout",
            "inner_dropout",
            "piece_dropout",
            "both_ways",
            "smoothing",
            "average",
        )
        if not _is_number(self.clip) or not 0 <= self.clip < math.inf:
            problems.append(f"clip must be at least 0 and finite; got {self.clip!r}")
        if self.piece_dropout and self.tokenizer != "bpe":
            problems.append(
                f"piece_dropout leaves out joints, which only bpe has; got {self.piece_dropout!r} and "
                f"{self.tokenizer!r}"
            )
        if self.both_ways and not self.joint:
            problems.append(
                "both_ways puts each language on either side, which needs one vocabulary for both; "
                f"got {self.both_ways!r} and two"
            )
        if self.average and self.average_last:
            problems.append(
                "average and average_last are two ways to average: leave one out; "
                f"got {self.average} and {self.average_last}"
            )
        if not _is_number(self.peak) or not 0 < self.peak <= MAX_PEAK:
            problems.append(f"peak must be above 0 and at most {MAX_PEAK:g}; got {self.peak!r}")
        if self.tokens < self.max_tokens:
            problems.append(
                f"a step of {self.tokens} tokens cannot hold a sentence of max_tokens={self.max_tokens}"
            )
        if self.schedule == "cosine" and self.warm_up > self.steps:
            problems.append(f"warm_up must be at most steps; got {self.warm_up} and {self.steps}")
        if problems:
            raise ValueError("; ".join(problems))

    @classmethod
    def for_corpus(cls, pairs: int, usual: Mapping[str, Any] | None = None, **said: Any) -> Self:
        """The defaults for so many pairs, but for what is usual for this corpus, and for what was said."""
        usual, other = dict(usual or {}), {"average": 0.0} if said.get("average_last") else {}
        if not said.get("joint", True):
            other["both_ways"] = 0.0
        if "steps" in said:  # what hangs on their usual number follows the one that was said
            usual = {
                name: value for name, value in usual.items() if name not in ("warm_up", "validate_every")
            }
        chosen = {**_by_size(pairs), **usual, **other, **said}
        steps = chosen["steps"]
        chosen.setdefault("warm_up", max(1, min(1000, steps // 4)))
        chosen.setdefault("validate_every", max(1, steps // 16))
        return cls.from_dict(chosen)

    def network(self) -> Network:
        """What is trained."""
        return Network.from_preset(self.preset, **self.regularisation())

    def regularisation(self) -> dict[str, float]:
        """The fields of the network that are not its preset's."""
        return {name: getattr(self, name) for name in ("dropout", "attention_dropout", "inner_dropout")}

    def is_over(self, history: Sequence[Mapping[str, float]]) -> bool:
        """Whether validations with these scores end the run: the last step is taken, or patience is lost."""
        return bool(history) and (history[-1]["step"] >= self.steps or self.lost_patience(history))

    def lost_patience(self, history: Sequence[Mapping[str, float]]) -> bool:
        """Whether the best BLEU is so many validations ago."""
        kept = best(history)
        return kept is not None and 0 < self.patience <= len(history) - 1 - list(history).index(kept)


#: The phrasebook has a small, regular grammar and no sentence twice: words for pieces, no dropout, few steps.
PHRASEBOOK: dict[str, Any] = {
    "vocabulary": 3400,
    "dropout": 0.0,
    "tokens": 4096,
    "steps": 320,
    "warm_up": 80,
    "validate_every": 80,
    "average": 0.99,
    "both_ways": 0.0,
}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _by_size(pairs: int) -> dict[str, Any]:
    """Small corpora: more dropout, smaller steps, both directions at first: docs/decisions/recipe.md."""
    if pairs < 50_000:
        return {"dropout": 0.3, "tokens": 4096, "steps": min(9000, max(1000, pairs // 2)), "both_ways": 0.33}
    if pairs < 500_000:
        return {"dropout": 0.15, "steps": 10_000}
    return {"dropout": 0.1, "steps": 50_000}
