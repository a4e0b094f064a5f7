"""The choice of golden sentences, and of others, if there are enough, to calibrate int8 on."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from keras_transformer.text.tokenizer import Tokenizer

CALIBRATION = 32

Item = TypeVar("Item")


class SourceSentence(NamedTuple):
    """A text, and its reference translation if one is known."""

    source: str
    reference: str | None = None


class Chosen(NamedTuple):
    """The sentences of an export."""

    golden: list[SourceSentence]
    calibration: list[SourceSentence]


def chosen(sentences: Iterable[SourceSentence], count: int, tokenizer: Tokenizer) -> Chosen:
    """Choose golden sentences, and those to calibrate on.

    Args:
        sentences: the candidates. Those of no tokens have no answer, and are left out.
        count: how many become golden; fewer if there are fewer.
        tokenizer: the model's tokenizer.
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
    """Return `count` items at even distances, or all."""
    count = min(count, len(items))
    return [items[index * len(items) // count] for index in range(count)]
