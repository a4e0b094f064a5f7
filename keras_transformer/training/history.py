"""The scores of a run's validations, and which of them is the best."""

from collections.abc import Mapping, Sequence

Scores = Mapping[str, float]


def rank(scores: Scores) -> tuple[float, float]:
    """More is better: BLEU, and where it is the same, as among very short lines, the lower loss."""
    return scores["bleu"], -scores["loss"]


def best(history: Sequence[Scores]) -> Scores | None:
    """The validation whose model is kept: the first of the best."""
    return max(history, key=rank, default=None)
