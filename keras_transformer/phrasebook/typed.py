"""Sentences of the phrasebook as people type them: with a telephone's apostrophe, or in a hurry."""

import random
from collections.abc import Iterable, Iterator

from keras_transformer.text.corpus import Pair

TYPOGRAPHIC, HURRIED = 0.15, 0.08  # shares of the sentences


def as_typed(pairs: Iterable[Pair], seed: int = 0) -> Iterator[Pair]:
    """Yield pairs of which some sources have ’ for ', and some no capitals and full stop."""
    chance = random.Random(seed)
    for pair in pairs:
        source = pair.source
        if chance.random() < TYPOGRAPHIC:
            source = source.replace("'", "’")
        if chance.random() < HURRIED:
            source = source.lower().removesuffix(".")
        yield pair._replace(source=source)
