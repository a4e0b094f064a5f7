"""The recipe: all options of a training run except its corpus; some defaults depend on its size."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from keras_transformer.models.architectures import ARCHITECTURES, Configuration, preset_of
from keras_transformer.models.network import Network
from keras_transformer.settings import Settings, current_names
from keras_transformer.text.tokenizer_training import FEWEST_PIECES
from keras_transformer.training.data.typed import KINDS
from keras_transformer.training.history import best

SCHEDULES = ("cosine", "inverse-sqrt")
PRECISIONS = ("float32", "bfloat16")
TOKENIZERS = ("bpe", "unigram")
MAX_STEPS = 10_000_000  # more than a hundred times the steps of the paper's large model
MAX_BATCH_TOKENS = 2**20
MAX_ACCUMULATED = 10_000  # batches of a step
MAX_AVERAGED = 1000  # each of them keeps a checkpoint
MAX_PIECES = 2**18  # more than in the vocabularies of models for 200 languages
MAX_PEAK_LEARNING_RATE = 10.0
TYPED = dict.fromkeys(KINDS, 0.02)  # shares of the sentences
FINE_TUNING_PEAK = 0.064  # over the width: 5e-4 for tiny, 1.25e-4 for base


@dataclass(frozen=True)
class Recipe(Settings):
    """Options of a training run.

    Raises:
        ValueError: With every option that is out of range.
    """

    architecture: str = "transformer"
    preset: str | None = "tiny"  # None: the network of the run that it goes on from
    dropout: float = 0.3
    attention_dropout: float = 0.0
    inner_dropout: float = 0.0
    bpe_dropout: float = (
        0.0  # share of the merges of BPE that is skipped; the corpus is encoded several times
    )
    both_ways: float = 0.0  # share of the steps, the first ones, that see every pair in both directions
    upper_case: float = 0.0  # this and the next four: share of the sentences that are typed so
    title_case: float = 0.0
    lower_case: float = 0.0
    no_punctuation: float = 0.0
    typing_errors: float = 0.0
    tokenizer: str = "bpe"
    joint: bool = True
    vocabulary_size: int | None = None  # None: 8,000, or as many as the corpus supports
    max_tokens: int = 128  # longer sentences are cut there in training
    batch_tokens: int = 8192  # in a batch, padding included, of the longer side
    gradient_accumulation_steps: int = 1  # batches in a step
    steps: int = 10_000
    extended_at: int = 0  # the step at which the run was finished, before it was given more
    schedule: str = "cosine"
    peak_learning_rate: float = 5e-3
    warmup_steps: int = 1000
    label_smoothing: float = 0.1
    clip_norm: float = 1.0  # largest norm of the gradients; 0 is none
    ema_decay: float = 0.998  # decay of the moving average of the weights; 0 is none
    average_checkpoints: int = 0  # number of last validations whose weights are averaged instead; 0 is none
    validate_every: int = 250
    patience: int = 0  # validations without improvement after which the run stops; 0 is never
    precision: str = "float32"
    seed: int = 0

    def __post_init__(self) -> None:
        problems = [
            f"{name} must be one of {', '.join(choices)}; got {getattr(self, name)!r}"
            for name, choices in (
                ("architecture", tuple(ARCHITECTURES)),
                ("preset", tuple(ARCHITECTURES.get(self.architecture, ()))),
                ("tokenizer", TOKENIZERS),
                ("schedule", SCHEDULES),
                ("precision", PRECISIONS),
            )
            if getattr(self, name) not in choices and (name, self.preset) != ("preset", None)
        ]
        problems += self._not_whole(1, "max_tokens", maximum=Network.max_length)
        problems += self._not_whole(1, "batch_tokens", maximum=MAX_BATCH_TOKENS)
        problems += self._not_whole(1, "gradient_accumulation_steps", maximum=MAX_ACCUMULATED)
        problems += self._not_whole(1, "steps", "warmup_steps", "validate_every", maximum=MAX_STEPS)
        problems += self._not_whole(0, "patience", "extended_at", maximum=MAX_STEPS)
        problems += self._not_whole(0, "average_checkpoints", maximum=MAX_AVERAGED)
        problems += self._not_whole(0, "seed", maximum=2**32 - 1)
        if self.vocabulary_size is not None:
            problems += self._not_whole(FEWEST_PIECES, "vocabulary_size", maximum=MAX_PIECES)
        problems += self._not_shares(
            "dropout",
            "attention_dropout",
            "inner_dropout",
            "bpe_dropout",
            "both_ways",
            *KINDS,
            "label_smoothing",
            "ema_decay",
        )
        if self.architecture != "transformer" and (self.attention_dropout or self.inner_dropout):
            problems.append(
                f"attention_dropout and inner_dropout must be 0 with architecture={self.architecture!r}, "
                f"which has dropout alone; got {self.attention_dropout} and {self.inner_dropout}"
            )
        if not _is_number(self.clip_norm) or not 0 <= self.clip_norm < math.inf:
            problems.append(f"clip_norm must be at least 0 and finite; got {self.clip_norm!r}")
        if self.bpe_dropout and self.tokenizer != "bpe":
            problems.append(
                f"bpe_dropout skips merges, so it needs tokenizer='bpe'; got {self.bpe_dropout!r} and "
                f"{self.tokenizer!r}"
            )
        if self.both_ways and not self.joint:
            problems.append(
                "both_ways trains both directions, which needs one vocabulary for both sides; "
                f"got {self.both_ways!r} and two"
            )
        shares = {kind: share for kind, share in self.typing().items() if share}
        if all(map(_is_number, shares.values())) and not sum(shares.values()) < 1:
            problems.append(
                f"{', '.join(shares)} are shares of the sentences: together they must be below 1; "
                f"got {', '.join(map(str, shares.values()))}"
            )
        if self.ema_decay and self.average_checkpoints:
            problems.append(
                "ema_decay and average_checkpoints are two ways to average: leave one out; "
                f"got {self.ema_decay} and {self.average_checkpoints}"
            )
        if (
            not _is_number(self.peak_learning_rate)
            or not 0 < self.peak_learning_rate <= MAX_PEAK_LEARNING_RATE
        ):
            problems.append(
                f"peak_learning_rate must be above 0 and at most {MAX_PEAK_LEARNING_RATE:g}; "
                f"got {self.peak_learning_rate!r}"
            )
        if self.batch_tokens < self.max_tokens:
            problems.append(
                f"batch_tokens={self.batch_tokens} cannot hold a sentence of max_tokens={self.max_tokens}"
            )
        if self.schedule == "cosine" and self.warmup_steps > self.steps:
            problems.append(f"warmup_steps must be at most steps; got {self.warmup_steps} and {self.steps}")
        if problems:
            raise ValueError("; ".join(problems))

    @classmethod
    def for_corpus(
        cls,
        pairs: int,
        defaults: Mapping[str, Any] | None = None,
        network: Configuration | None = None,
        **overrides: Any,
    ) -> Self:
        """Create the recipe for a corpus.

        Args:
            pairs: Number of pairs for training, on which the general defaults depend.
            defaults: Fields whose defaults differ for this corpus.
            network: Trained network that the run starts from. None starts from random weights.
            **overrides: Fields that the user set, which replace every default.

        Raises:
            ValueError: With every field that is unknown or out of range.
        """
        implied = {"ema_decay": 0.0} if overrides.get("average_checkpoints") else {}
        if not overrides.get("joint", True):
            implied["both_ways"] = 0.0
        general = _by_size(pairs) if network is None else _fine_tuning(pairs, network)
        chosen = {**general, **remaining_defaults(defaults or {}, overrides), **implied, **overrides}
        if network is not None and chosen["max_tokens"] > network.max_length:
            raise ValueError(
                f"max_tokens must be at most {network.max_length}, the number of positions of the model to "
                f"start from; got {chosen['max_tokens']}"
            )
        steps = chosen["steps"]
        warmup, validations = (4, 16) if network is None else (10, 8)
        chosen.setdefault("warmup_steps", max(1, min(1000, steps // warmup)))
        chosen.setdefault("validate_every", max(1, steps // validations))
        return cls.from_dict(chosen)

    @classmethod
    def from_run(cls, values: Any) -> Self:
        """Read the content of a recipe.json, which an earlier version may have written.

        Raises:
            ValueError: If a field is unknown or out of range.
            TypeError: If the content is not an object.
        """
        if not isinstance(values, dict):
            raise TypeError(f"it holds {values!r:.40}, not an object")
        return cls.from_dict(current_names(values))

    def typing(self) -> dict[str, float]:
        """Return the share of each kind of sentences as people type them."""
        return {kind: getattr(self, kind) for kind in KINDS}

    def network(self, initial: Configuration | None = None) -> Configuration:
        """Return the configuration of the network to train; `initial` is that of the model to start from."""
        if initial is not None:
            return initial.with_regularization(**self.regularization())
        return preset_of(self.architecture, self.preset or "", **self.regularization())

    def regularization(self) -> dict[str, Any]:
        """Return the fields of the network that its preset does not set."""
        return {name: getattr(self, name) for name in ("dropout", "attention_dropout", "inner_dropout")}

    def is_over(self, history: Sequence[Mapping[str, float]]) -> bool:
        """Return whether a run with these validations is over: no steps or no patience is left."""
        return bool(history) and (history[-1]["step"] >= self.steps or self.lost_patience(history))

    def lost_patience(self, history: Sequence[Mapping[str, float]]) -> bool:
        """Return whether the best BLEU, and the last extension, are at least `patience` validations old."""
        best_scores = best(history)
        since = [scores for scores in history if best_scores and scores["step"] > best_scores["step"]]
        return 0 < self.patience <= sum(scores["step"] > self.extended_at for scores in since)

    def extended(self, done: int, steps: int) -> Self:
        """Return the recipe of the same run with more steps.

        Args:
            done: The steps that it has done.
            steps: The new number of steps.

        Raises:
            ValueError: There are no more steps than before, too many, or too few for the warm-up and the
                steps in both directions, which patience may have cut short.
        """
        if steps <= done:
            raise ValueError(f"steps must be more than the {done:,} that the run has done; got {steps:,}")
        first = round(self.both_ways * self.steps)  # as many steps in both directions as before
        fewest = max(first + 1, self.warmup_steps if self.schedule == "cosine" else 1)
        if steps < fewest:
            raise ValueError(
                f"steps must be at least {fewest:,}: this run has {self.warmup_steps:,} steps of warm-up and "
                f"{first:,} steps in both directions; got {steps:,}"
            )
        return replace(self, steps=steps, extended_at=done, both_ways=first / steps)

    def extension(self) -> str:
        """Describe the learning rate since the last extension."""
        done, steps, peak = self.extended_at, self.steps, self.peak_learning_rate
        if self.schedule != "cosine":
            now, then = (peak * math.sqrt(self.warmup_steps / step) for step in (done, steps))
            return f"from step {done:,} to {steps:,} the learning rate falls from {now:.2g} to {then:.2g}"
        if done <= self.warmup_steps:
            return (
                f"from step {done:,} the learning rate goes on with its rise to {peak:.2g} at step "
                f"{self.warmup_steps:,}, and follows the cosine that ends at step {steps:,}"
            )
        rise = rise_steps(self.warmup_steps, steps, done)
        share = (done + rise - self.warmup_steps) / max(steps - self.warmup_steps, 1)
        top = peak * 0.5 * (1 + math.cos(math.pi * share))
        return (
            f"from step {done:,} the learning rate rises in {rise:,} steps to {top:.2g}, where the cosine "
            f"that ends at step {steps:,} is then, and follows it down to 0"
        )


def shared_batches(batches: int, workers: int) -> int:
    """Return the number of batches of a step that each worker has.

    Args:
        batches: Number of batches of a step, of all workers together.
        workers: Number of workers.

    Raises:
        ValueError: If the workers cannot share them evenly.
    """
    if batches % workers:
        possible = [str(count) for count in range(1, batches + 1) if batches % count == 0]
        raise ValueError(
            f"a step of this run has {batches} batches (gradient_accumulation_steps), which {workers} "
            f"workers cannot share evenly: start {', '.join(possible)}, or begin a new run."
        )
    return batches // workers


def remaining_defaults(defaults: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults of a corpus that apply beside the fields that the user set."""
    replaced = set(overrides)
    if "steps" in overrides:  # these two belong to the default number of steps
        replaced |= {"warmup_steps", "validate_every"}
    if overrides.get("average_checkpoints"):
        replaced.add("ema_decay")
    return {name: value for name, value in defaults.items() if name not in replaced}


def rise_steps(warmup_steps: int, steps: int, extended_at: int) -> int:
    """Return the number of steps in which the learning rate rises again after an extension."""
    return max(1, min(warmup_steps, (steps - extended_at) // 4))


#: The phrasebook has a small, regular grammar: whole words as pieces, no dropout, few steps.
PHRASEBOOK: dict[str, Any] = {
    "vocabulary_size": 3400,
    "dropout": 0.0,
    "batch_tokens": 2048,
    "steps": 600,
    "warmup_steps": 150,
    "validate_every": 200,
    "ema_decay": 0.99,
    "both_ways": 0.0,
    **dict.fromkeys(KINDS, 0.0),
    "lower_case": 0.12,
    "no_punctuation": 0.02,
}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _by_size(pairs: int) -> dict[str, Any]:
    """Return defaults by the size of a corpus; docs/decisions/recipe.md has the reasons."""
    if pairs < 50_000:
        return {
            **TYPED,
            "dropout": 0.3,
            "batch_tokens": 4096,
            "steps": min(9000, max(1000, pairs // 2)),
            "both_ways": 0.33,
        }
    if pairs < 500_000:
        return {**TYPED, "dropout": 0.15, "steps": 10_000}
    return {**TYPED, "dropout": 0.1, "steps": 50_000}


def _fine_tuning(pairs: int, network: Configuration) -> dict[str, Any]:
    """Return defaults for going on from a trained network: a low peak, few steps, its own dropout."""
    return {
        **TYPED,
        **network.regularization,
        "max_tokens": min(Recipe.max_tokens, network.max_length),
        "batch_tokens": 4096,
        "steps": min(2000, max(100, pairs // 20)),
        "peak_learning_rate": FINE_TUNING_PEAK / network.width,
        "ema_decay": 0.99,
    }
