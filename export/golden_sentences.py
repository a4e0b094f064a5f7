"""Which of the given sentences become golden, and which ones int8 is calibrated on: others, if there are."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from keras_transformer.text.tokenizer import Tokenizer

CALIBRATION = 32

Item = TypeVar("Item")


class SourceSentence(NamedTuple):
    """A text, and a right translation if one is known."""

    source: str
    reference: str | None = None


class Chosen(NamedTuple):
    """What an export needs of sentences."""

    golden: list[SourceSentence]
    calibration: list[SourceSentence]


def chosen(sentences: Iterable[SourceSentence], count: int, tokenizer: Tokenizer) -> Chosen:
    """`count` golden ones, or all. One that says nothing to the model has no answer, and is left out."""
    given = list(sentences)
    encoded = tokenizer.encode_source([each.source for each in given])
    told = [each for each, ids in zip(given, encoded, strict=True) if ids != [tokenizer.eos_id]]
    golden = evenly(told, count)
    taken = set(golden)
    others = [each for each in told if each not in taken]
    return Chosen(golden, evenly(others if len(others) >= CALIBRATION else told, CALIBRATION))


def evenly(items: Sequence[Item], count: int) -> list[Item]:
    """So many of them at even distances, or all."""
    kept = min(count, len(items))
    return [items[place * len(items) // kept] for place in range(kept)]
