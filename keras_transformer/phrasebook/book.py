"""The corpus: every frame, mixed by weight, split by the checksum of what a sentence means."""

from bisect import bisect
from collections.abc import Iterator
from functools import cache
from itertools import accumulate, islice
from random import Random
from zlib import crc32

from keras_transformer.phrasebook.frames import (
    asking,
    being,
    booking,
    doing,
    joining,
    moving,
    ordering,
    places,
    pronouns,
    shopping,
    things,
)
from keras_transformer.phrasebook.frames.fixed import KNOWN, PHRASES, fixed
from keras_transformer.phrasebook.lexicon import clock
from keras_transformer.phrasebook.sentence import Frame, SentencePair
from keras_transformer.text.corpus import Pair

DIRECTIONS = ("fr-en", "en-fr")
SPLITS = ("train", "valid", "test")
TOPICS = (doing, moving, ordering, being, things, clock, places, shopping, asking, pronouns,
          booking, joining)  # fmt: skip
FRAMES: tuple[Frame, ...] = (fixed, *(frame for topic in TOPICS for frame in topic.FRAMES))
_HELD_OUT = 35  # sentences in a thousand, for each of valid and test
# Between these two shares of all combinations the sentences need counting, which reads every one of them.
_SURELY = {"train": 0.4, "valid": 0.01, "test": 0.01}
_HARDLY = {"train": 1.0, "valid": 0.05, "test": 0.05}


def split_of(english: str) -> str:
    """Return the split of a sentence. All French of one meaning is in one split, so that no side leaks."""
    if english in KNOWN:
        return "train"
    place = crc32(english.encode()) % 1000
    return "test" if place < _HELD_OUT else "valid" if place < 2 * _HELD_OUT else "train"


def _shuffled(size: int, random: Random) -> Iterator[int]:
    """0 to size - 1 in random order; remembers only what it has moved."""
    moved: dict[int, int] = {}
    for last in range(size - 1, -1, -1):
        place = int(random.random() * (last + 1))
        chosen = moved.get(place, place)
        moved[place] = moved.pop(last, last)
        yield chosen


def _sentences(frame: Frame, direction: str, split: str, random: Random) -> Iterator[SentencePair]:
    """Yield the frame's sentences that belong to this direction and split."""
    for index in _shuffled(frame.size, random):
        sentence = frame.at(index)
        if sentence is None or (direction == "en-fr" and not sentence.both):
            continue
        if (frame is fixed or sentence.english not in KNOWN) and split_of(sentence.english) == split:
            yield sentence


def _mixed(direction: str, split: str, seed: int) -> Iterator[SentencePair]:
    """Sentences of all frames by weight; a frame that has said everything drops out."""
    random = Random(f"{direction} {split} {seed}")
    voices = [
        (frame.weight, _sentences(frame, direction, split, Random(f"{seed} {number} {split}")))
        for number, frame in enumerate(FRAMES)
    ]
    while voices:
        marks = list(accumulate(weight for weight, _ in voices))
        while True:
            place = bisect(marks, random.random() * marks[-1])
            sentence = next(voices[place][1], None)
            if sentence is None:
                del voices[place]
                break
            yield sentence


@cache
def capacity(direction: str, split: str) -> int:
    """Return the number of pairs. The first call for a direction and split enumerates all of them."""
    return sum(1 for _ in _mixed(direction, split, 0))


def phrasebook(
    direction: str = "fr-en", split: str = "train", pairs: int = 30_000, seed: int = 0
) -> Iterator[Pair]:
    """Return distinct sentence pairs, the same for the same arguments on every machine.

    Args:
        direction: "fr-en" or "en-fr".
        split: "train", "valid" or "test".
        pairs: Number of pairs.
        seed: Seed of the selection.

    Returns:
        The pairs; each is a tuple of `source` and `target`.

    Raises:
        ValueError: If the direction or the split is unknown, or there are fewer pairs.
    """
    problems = [f"{name} must be one of {', '.join(choices)}; got {value!r}"
                for name, value,
                choices in (("direction", direction, DIRECTIONS), ("split", split, SPLITS))
                if value not in choices]  # fmt: skip
    if pairs < 0:
        problems.append(f"pairs must not be negative; got {pairs}")
    if problems:
        raise ValueError(". ".join(problems) + ".")
    combinations = sum(frame.size for frame in FRAMES)
    if pairs > combinations * _SURELY[split]:
        most = int(combinations * _HARDLY[split])
        if pairs <= most:
            most = capacity(direction, split)
        if pairs > most:
            raise ValueError(
                f"{direction} {split} has at most {most} pairs; got pairs={pairs}. "
                "Ask for fewer, or take numbered_pairs, which has millions."
            )
    return (_pair(sentence, direction) for sentence in islice(_mixed(direction, split, seed), pairs))


def learned_whole(direction: str) -> list[Pair]:
    """Return the fixed phrases, which a learner of the language hears first and most often."""
    return [_pair(phrase, direction) for phrase in PHRASES if phrase.both or direction == "fr-en"]


def _pair(sentence: SentencePair, direction: str) -> Pair:
    french_english = Pair(sentence.french, sentence.english)
    return french_english if direction == "fr-en" else Pair(*reversed(french_english))
