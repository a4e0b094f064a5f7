"""Sentence pairs and frames: a frame has slots to fill, and a function that fills them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from keras_transformer.phrasebook.grammar import english, french


class SentencePair(NamedTuple):
    """Pair of French and English; `both` is whether the English determines this French."""

    french: str
    english: str
    both: bool = True


@dataclass(frozen=True, slots=True)
class Frame:
    """Family of sentences: one for every combination of its slots that makes sense."""

    weight: float
    slots: tuple[Sequence[Any], ...]
    fill: Callable[..., SentencePair | None]

    @property
    def size(self) -> int:
        """Number of combinations, including those that make no sense."""
        return prod(map(len, self.slots))

    def also(self, weight: float, *slots: Sequence[Any]) -> "Frame":
        """Return a frame with the same function and other slots, with its own weight."""
        return Frame(weight, slots, self.fill)

    def at(self, index: int) -> SentencePair | None:
        """Return the combination with this index, or None if it makes no sense."""
        words = []
        for slot in self.slots:
            index, place = divmod(index, len(slot))
            words.append(slot[place])
        return self.fill(*words)


@dataclass(frozen=True, slots=True)
class Sentences(Sequence[SentencePair | None]):
    """Sentences of a frame as the slot of another frame."""

    frame: Frame

    def __len__(self) -> int:
        return self.frame.size

    def __getitem__(self, index: int) -> SentencePair | None:  # type: ignore[override]  # no frame takes a slice
        return self.frame.at(index)


def frame(weight: float, *slots: Sequence[Any]) -> Callable[[Callable[..., SentencePair | None]], Frame]:
    """Make a frame from the function below it."""
    return lambda fill: Frame(weight, slots, fill)


def say(french_words: str, english_words: str, both: bool = True) -> SentencePair:
    """Finish both sides: elide and contract, choose a or an, and capitalize."""
    return SentencePair(french.write(french_words), english.write(english_words), both)


_CAPITAL = ("I", "Paul", "Paul's", "Marie", "Thomas", "Julie")


def lowered(text: str) -> str:
    """Return a finished sentence as the second half of another one: I and names keep their capital."""
    return text if text.split(maxsplit=1)[0].rstrip(",") in _CAPITAL else text[0].lower() + text[1:]
