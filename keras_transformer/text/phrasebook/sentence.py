"""A sentence pair as a frame writes it, and the frame: slots to fill and a function that fills them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from keras_transformer.text.phrasebook import english, french


class Sentence(NamedTuple):
    """French, English, and whether English alone leads back to this French."""

    french: str
    english: str
    both: bool = True


@dataclass(frozen=True, slots=True)
class Frame:
    """A family of sentences: one for every combination of its slots that makes sense."""

    weight: float
    slots: tuple[Sequence[Any], ...]
    fill: Callable[..., Sentence | None]

    @property
    def size(self) -> int:
        """Combinations, the senseless ones included."""
        return prod(map(len, self.slots))

    def also(self, weight: float, *slots: Sequence[Any]) -> "Frame":
        """The same sentences of other words, weighed by themselves."""
        return Frame(weight, slots, self.fill)

    def at(self, index: int) -> Sentence | None:
        """The combination with this number, None if it makes no sense."""
        words = []
        for slot in self.slots:
            index, place = divmod(index, len(slot))
            words.append(slot[place])
        return self.fill(*words)


@dataclass(frozen=True, slots=True)
class Sentences(Sequence[Sentence | None]):
    """The sentences of a frame as the slot of another one."""

    frame: Frame

    def __len__(self) -> int:
        return self.frame.size

    def __getitem__(self, index: int) -> Sentence | None:  # type: ignore[override]  # no frame takes a slice
        return self.frame.at(index)


def frame(weight: float, *slots: Sequence[Any]) -> Callable[[Callable[..., Sentence | None]], Frame]:
    """Make a frame of the function below it."""
    return lambda fill: Frame(weight, slots, fill)


def say(french_words: str, english_words: str, both: bool = True) -> Sentence:
    """Both sides spelled out: elided, contracted, a or an, with their capitals."""
    return Sentence(french.write(french_words), english.write(english_words), both)


_CAPITAL = ("I", "Paul", "Paul's", "Marie", "Thomas", "Julie")


def lowered(text: str) -> str:
    """A finished sentence as the second half of another one: I and names keep their capital."""
    return text if text.split(maxsplit=1)[0].rstrip(",") in _CAPITAL else text[0].lower() + text[1:]
