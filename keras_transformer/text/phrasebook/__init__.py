"""A phrasebook: French and English sentence pairs from a small grammar, by the tens of thousands."""

from keras_transformer.text.phrasebook.corpus import capacity, learned_whole, phrasebook
from keras_transformer.text.phrasebook.numbered import numbered_pairs

__all__ = ["capacity", "learned_whole", "numbered_pairs", "phrasebook"]
