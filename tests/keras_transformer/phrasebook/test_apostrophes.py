"""The phrasebook's sentences with a telephone's apostrophe."""

from itertools import islice

from keras_transformer.phrasebook import phrasebook, with_typographic_apostrophes
from keras_transformer.phrasebook.apostrophes import TYPOGRAPHIC

BOOK = list(islice(phrasebook("fr-en", "train", 4000), 4000))


def test_a_telephones_apostrophe_is_seen_beside_the_books_own() -> None:
    typed = list(with_typographic_apostrophes(BOOK))
    assert typed == list(with_typographic_apostrophes(BOOK))
    curly = [pair for pair in BOOK if "'" in pair.source]
    typed_curly = [pair for pair in typed if "’" in pair.source]
    assert 0.8 * TYPOGRAPHIC < len(typed_curly) / len(curly) < 1.2 * TYPOGRAPHIC
    assert {"J’ai", "J'ai"} <= {word for pair in typed for word in pair.source.split()}


def test_only_that_differs_and_the_translation_stays() -> None:
    for pair, book in zip(with_typographic_apostrophes(BOOK), BOOK, strict=True):
        assert (pair.source.replace("’", "'"), pair.target) == book
