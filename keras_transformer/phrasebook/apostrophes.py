"""Sentences of the phrasebook with the apostrophe that telephones write."""

import random
from collections.abc import Iterable, Iterator

from keras_transformer.text.corpus import Pair

TYPOGRAPHIC = 0.15  # share of the sentences


def with_typographic_apostrophes(pairs: Iterable[Pair], seed: int = 0) -> Iterator[Pair]:
    """Yield pairs of which some sources have ’ for '."""
    chance = random.Random(seed)
    for source, target in pairs:
        yield Pair(source.replace("'", "’") if chance.random() < TYPOGRAPHIC else source, target)
