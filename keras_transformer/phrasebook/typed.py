"""The book's sentences as people type them: with the apostrophe of a telephone, or in a hurry."""

import random
from collections.abc import Iterable, Iterator

from keras_transformer.text.corpus import Pair

TYPOGRAPHIC, HURRIED = 0.15, 0.08  # shares of the sentences


def as_typed(pairs: Iterable[Pair], seed: int = 0) -> Iterator[Pair]:
    """Some of the sources with ’ for ', some without capitals and full stop. What they mean is the same."""
    chance = random.Random(seed)
    for pair in pairs:
        source = pair.source
        if chance.random() < TYPOGRAPHIC:
            source = source.replace("'", "’")
        if chance.random() < HURRIED:
            source = source.lower().removesuffix(".")
        yield pair._replace(source=source)
