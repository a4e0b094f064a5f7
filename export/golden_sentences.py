"""Selection of golden sentences, and of sentences for the int8 calibration."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from keras_transformer.text.tokenizer import Tokenizer

CALIBRATION = 32

Item = TypeVar("Item")


class SourceSentence(NamedTuple):
    """Text with its reference translation, if one is known."""

    source: str
    reference: str | None = None


class Chosen(NamedTuple):
    """Sentences of an export."""

    golden: list[SourceSentence]
    calibration: list[SourceSentence]


def chosen(sentences: Iterable[SourceSentence], count: int, tokenizer: Tokenizer) -> Chosen:
    """Select golden sentences, and sentences for the calibration.

    The calibration uses other sentences if there are enough.

    Args:
        sentences: Candidates. Sentences without tokens have no answer, and are skipped.
        count: Largest number of golden sentences.
        tokenizer: Tokenizer of the model.
    """
    candidates = list(sentences)
    encoded = tokenizer.encode_source([sentence.source for sentence in candidates])
    usable = [
        sentence for sentence, ids in zip(candidates, encoded, strict=True) if ids != [tokenizer.eos_id]
    ]
    golden = evenly(usable, count)
    taken = set(golden)
    others = [sentence for sentence in usable if sentence not in taken]
    return Chosen(golden, evenly(others if len(others) >= CALIBRATION else usable, CALIBRATION))


def evenly(items: Sequence[Item], count: int) -> list[Item]:
    """Return `count` items at even distances, or all items."""
    count = min(count, len(items))
    return [items[index * len(items) // count] for index in range(count)]
