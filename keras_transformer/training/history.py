"""The scores of a run's validations, and which of them is the best."""

from collections.abc import Mapping, Sequence

Scores = Mapping[str, float]


def rank(scores: Scores) -> tuple[float, float]:
    """Return a sort key, higher is better: BLEU, then, as very short lines often tie, the lower loss."""
    return scores["bleu"], -scores["loss"]


def best(history: Sequence[Scores]) -> Scores | None:
    """Return the validation whose model is saved: the first of the best, or None."""
    return max(history, key=rank, default=None)
