"""The phrasebook's sentences as people type them."""

from itertools import islice

from keras_transformer.phrasebook import as_typed, phrasebook
from keras_transformer.phrasebook.typed import HURRIED, TYPOGRAPHIC
from keras_transformer.text.corpus import Pair

BOOK = list(islice(phrasebook("fr-en", "train", 4000), 4000))


def test_a_telephones_apostrophe_and_no_capitals_are_seen_beside_the_books_own_sentences() -> None:
    typed = list(as_typed(BOOK))
    assert typed == list(as_typed(BOOK))
    curly = [pair for pair in BOOK if "'" in pair.source]
    typed_curly = [pair for pair in typed if "’" in pair.source]
    assert 0.8 * TYPOGRAPHIC < len(typed_curly) / len(curly) < 1.2 * TYPOGRAPHIC
    hurried = [pair for pair in typed if pair.source == pair.source.lower()]
    assert 0.8 * HURRIED < len(hurried) / len(BOOK) < 1.2 * HURRIED
    assert {"j’ai", "j'ai"} <= {word.lower() for pair in typed for word in pair.source.split()}


def test_only_that_differs_and_the_translation_stays() -> None:
    for pair, book in zip(as_typed(BOOK), BOOK, strict=True):
        assert pair.target == book.target
        assert pair.source.replace("’", "'").lower().removesuffix(".") == book.source.lower().removesuffix(
            "."
        )


def test_nothing_is_left_of_a_full_stop_in_a_hurry_but_a_question_stays_one() -> None:
    typed = {
        pair.source for pair in as_typed([Pair("Où est-il ?", "Where is he?"), Pair("Non.", "No.")] * 100)
    }
    assert typed == {"Où est-il ?", "où est-il ?", "Non.", "non"}
