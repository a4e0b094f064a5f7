"""A phrasebook: French and English sentence pairs from a small grammar, by the tens of thousands."""

from keras_transformer.phrasebook.apostrophes import with_typographic_apostrophes
from keras_transformer.phrasebook.book import DIRECTIONS, capacity, learned_whole, phrasebook
from keras_transformer.phrasebook.numbered import numbered_pairs

__all__ = [
    "DIRECTIONS",
    "capacity",
    "learned_whole",
    "numbered_pairs",
    "phrasebook",
    "with_typographic_apostrophes",
]
