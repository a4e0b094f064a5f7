"""Scores of a run's validations, and the choice of the best one."""

from collections.abc import Mapping, Sequence

Scores = Mapping[str, float]


def rank(scores: Scores) -> tuple[float, float]:
    """Return a sort key, higher is better: BLEU, then the lower loss, because very short lines often tie."""
    return scores["bleu"], -scores["loss"]


def best(history: Sequence[Scores]) -> Scores | None:
    """Return the first of the best validations, whose model is saved; or None without any."""
    return max(history, key=rank, default=None)
