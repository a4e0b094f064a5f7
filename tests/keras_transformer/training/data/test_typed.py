"""Text as people type it: what changes, what never does, and how often it is trained on."""

import re
from collections import Counter
from itertools import islice
from random import Random

import numpy as np
import pytest

from keras_transformer.phrasebook import phrasebook
from keras_transformer.text.corpus import Pair
from keras_transformer.text.token_store import TokenStore
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.data.stages import Joined, Turned, stages
from keras_transformer.training.data.typed import KINDS, SPREAD, WORDS_PER_ERROR, Typed, varied
from keras_transformer.training.recipe import Recipe

BOOK = list(phrasebook("fr-en", "train", 2000))


def source_of(source: str, kind: str, seed: int = 0) -> str:
    return varied(Pair(source, "target"), kind, Random(seed)).source


@pytest.mark.parametrize(
    ("kind", "source", "target"),
    [
        ("upper_case", "OÙ EST L'HÔTEL DE PAUL ?", "WHERE IS PAUL'S HOTEL?"),
        ("title_case", "Où Est L'hôtel De Paul ?", "Where is Paul's hotel?"),
        ("lower_case", "où est l'hôtel de paul ?", "Where is Paul's hotel?"),
        ("no_punctuation", "Où est l'hôtel de Paul", "Where is Paul's hotel?"),
    ],
)
def test_only_a_source_in_capitals_is_translated_into_them(kind: str, source: str, target: str) -> None:
    pair = Pair("Où est l'hôtel de Paul ?", "Where is Paul's hotel?")
    assert varied(pair, kind, Random(0)) == (source, target)


@pytest.mark.parametrize(
    ("kind", "source", "typed"),
    [
        ("lower_case", "Il dort. Elle lit.", "il dort. elle lit"),
        ("lower_case", "Wait...", "wait..."),
        ("lower_case", "FERMÉ LE LUNDI.", "FERMÉ LE LUNDI."),  # its translation is in capitals too
        ("title_case", "FERMÉ LE LUNDI.", "FERMÉ LE LUNDI."),
        ("lower_case", "A 5.", "a 5"),
        ("no_punctuation", "Attention !!", "Attention"),
        ("no_punctuation", "Wirklich?!", "Wirklich"),
        ("no_punctuation", "我是学生。", "我是学生"),
        ("no_punctuation", "« Non. »", "« Non. »"),
        ("no_punctuation", "...", "..."),
        ("upper_case", ">>fra<< Hello.", ">>fra<< HELLO."),  # the code of a target language
        ("title_case", ">>por_Latn<< How are you?", ">>por_Latn<< How Are You?"),
    ],
)
def test_how_a_sentence_is_typed(kind: str, source: str, typed: str) -> None:
    assert source_of(source, kind) == typed


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "no_punctuation"])
@pytest.mark.parametrize("source", ["我是学生。", "أنا طالب.", "저는 학생입니다.", "12:30 - 14:00."])
def test_scripts_without_case_stay_as_they_are(kind: str, source: str) -> None:
    assert varied(Pair(source, "I am a student."), kind, Random(0)) == (source, "I am a student.")


@pytest.mark.parametrize("kind", ["upper_case", "title_case", "lower_case"])
def test_a_sentence_without_capitals_has_no_variant_of_case(kind: str) -> None:
    assert (
        varied(Pair("ein mann schläft .", "a man sleeps ."), kind, Random(0)).source == "ein mann schläft ."
    )


def test_an_error_leaves_the_first_letter_the_short_words_and_the_translation() -> None:
    pair = Pair("Le café est fermé à midi.", "The café is closed at noon.")
    seen = {varied(pair, "typing_errors", Random(seed)) for seed in range(200)}
    assert {target for _, target in seen} == {pair.target}
    pattern = r"Le (?P<a>c\w{2,4}) est (?P<b>f\w{3,5}) à (?P<c>m\w{2,4})\."
    found = [re.fullmatch(pattern, source) for source, _ in seen]
    assert all(found)
    # left out, twice, exchanged, the key beside it, without accents
    assert {"caf", "caffé", "cfaé", "cadé", "cafe"} <= {match["a"] for match in found if match}
    assert all([match["a"], match["b"], match["c"]] != ["café", "fermé", "midi"] for match in found if match)


@pytest.mark.parametrize(
    "source", ["https://example.com/page", "someone@example.com", "A380neo", "<span>", "x = value_of(y)"]
)
def test_an_address_a_number_or_code_has_no_errors(source: str) -> None:
    assert {source_of(source, "typing_errors", seed) for seed in range(50)} == {source}


def test_a_long_sentence_has_an_error_in_some_of_its_words() -> None:
    words = ["fenêtre"] * (3 * WORDS_PER_ERROR)
    for seed in range(20):
        typed = source_of(" ".join(words), "typing_errors", seed).split(" ")
        assert 1 <= sum(word != "fenêtre" for word in typed) <= 3


def test_each_kind_has_its_share_of_the_sentences_that_are_drawn() -> None:
    shares = dict(zip(KINDS, (0.01, 0.02, 0.05, 0.1, 0.02), strict=True))
    typed = Typed(shares, seed=1)
    variants = list(typed.variants(BOOK))
    assert variants == list(typed.variants(BOOK)) != list(Typed(shares, seed=2).variants(BOOK))
    assert len(variants) == len(typed.rates) == typed.counts.total()
    drawn = sum(typed.rates) + len(BOOK)
    assert sum(typed.rates) / drawn == pytest.approx(0.2, abs=0.02)
    for kind, count in typed.counts.items():
        assert count * typed.rates[0] / drawn == pytest.approx(shares[kind], rel=0.25)
    assert len(list(typed.drawn(BOOK))) == pytest.approx(sum(typed.rates), abs=1)


def test_most_of_the_sentences_may_be_typed_so() -> None:
    typed = Typed(dict.fromkeys(KINDS, 0.0) | {"lower_case": 0.75}, seed=0)
    assert len(list(typed.variants(BOOK))) == len(BOOK)
    assert sum(typed.rates) == pytest.approx(3 * len(BOOK))


def test_nothing_is_typed_where_nothing_is_asked_for() -> None:
    typed = Typed(Recipe().typing(), seed=0)
    assert not list(typed.variants(BOOK))


def test_a_variant_is_drawn_as_often_as_its_pair() -> None:
    weights = np.where(np.arange(len(BOOK)) < 1000, 3.0, 0.5)
    typed = Typed(dict.fromkeys(KINDS, 0.0) | {"lower_case": 0.1}, 0, weights)
    expected = {
        pair.source.lower().removesuffix("."): weight for pair, weight in zip(BOOK, weights, strict=True)
    }
    for variant, rate in zip(list(typed.variants(BOOK)), typed.rates, strict=True):
        assert rate == expected[variant.source] / SPREAD


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> tuple[TokenStore, TokenStore]:
    typed = Typed(dict.fromkeys(KINDS, 0.05), seed=0)
    corpus = TokenStore.write(tmp_path_factory.mktemp("corpus"), BOOK[:400], tokenizer)
    directory = tmp_path_factory.mktemp("typed")
    return corpus, TokenStore.write(directory, typed.variants(BOOK[:400]), tokenizer, rates=typed.rates)


def test_variants_are_trained_on_in_their_share_of_the_batches(
    stores: tuple[TokenStore, TokenStore],
) -> None:
    corpus, typed = stores
    _, plan, _ = stages(corpus, Recipe(batch_tokens=512), typed)[-1]
    drawn = Counter(
        bool(index >= len(corpus)) for _, rows in islice(plan.batches(), 200) for index in rows.tolist()
    )
    assert drawn[True] / drawn.total() == pytest.approx(0.25, abs=0.03)


def test_the_other_direction_has_no_variants(stores: tuple[TokenStore, TokenStore]) -> None:
    corpus, typed = stores
    first, last = stages(corpus, Recipe(batch_tokens=512, steps=40, both_ways=0.5, warmup_steps=1), typed)
    assert (len(first.store), len(last.store)) == (2 * len(corpus) + len(typed), len(corpus) + len(typed))
    expected = Joined(corpus, Turned(corpus), typed)
    rows, length = np.arange(len(expected)), int(expected.lengths().max())
    for side in (0, 1):
        np.testing.assert_array_equal(first.store.rows(side, rows, length), expected.rows(side, rows, length))
        np.testing.assert_array_equal(
            last.store.rows(side, rows[len(corpus) : len(last.store)], length),
            typed.rows(side, np.arange(len(typed)), length),
        )
