"""A phrasebook: French and English sentence pairs from a small grammar, by the tens of thousands."""

from keras_transformer.phrasebook.book import DIRECTIONS, capacity, learned_whole, phrasebook
from keras_transformer.phrasebook.numbered import numbered_pairs
from keras_transformer.phrasebook.typed import as_typed

__all__ = ["DIRECTIONS", "as_typed", "capacity", "learned_whole", "numbered_pairs", "phrasebook"]
