"""Which validation is the best: its model is kept, patience counts from it, and everything shows it."""

from keras_transformer.training.history import best
from keras_transformer.training.recipe import Recipe


def history(*scores: tuple[float, float]) -> list[dict[str, float]]:
    return [{"step": step, "bleu": bleu, "loss": loss} for step, (bleu, loss) in enumerate(scores)]


def test_it_is_the_first_with_the_highest_bleu() -> None:
    assert best(history((3.0, 4.0), (31.0, 2.5), (31.0, 2.5), (29.0, 2.0))) == {
        "step": 1, "bleu": 31.0, "loss": 2.5
    }  # fmt: skip
    assert best([]) is None


def test_where_bleu_says_nothing_the_lower_loss_decides() -> None:
    """All lines of a corpus may be shorter than the four words that BLEU looks at together."""
    short = history((0.0, 0.9), (0.0, 0.1), (0.0, 0.2))
    assert best(short) == short[1]
    assert not Recipe(patience=2).lost_patience(short)
    assert Recipe(patience=1).lost_patience(short)
