"""The phrasebook's words and frames combine: whole words as pieces, wishes, bookings and joined sentences."""

import re
from collections import Counter
from pathlib import Path

import pytest

from keras_transformer.phrasebook import learned_whole, phrasebook, with_typographic_apostrophes
from keras_transformer.phrasebook.frames.booking import BOOKERS, BOOKINGS, booking
from keras_transformer.phrasebook.frames.joining import and_then, greeting
from keras_transformer.phrasebook.lexicon.clock import number_in_english, number_in_french
from keras_transformer.phrasebook.sentence import SentencePair, lowered
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.data.corpus_options import PHRASES
from keras_transformer.training.recipe import PHRASEBOOK

UNSEEN = Path(__file__).parent / "unseen"
WORD = re.compile(r"[^\W\d_]+|\d+")


@pytest.fixture(scope="module")
def train():
    return [*learned_whole("fr-en"), *phrasebook("fr-en", "train", PHRASES)]


@pytest.fixture(scope="module")
def unseen():
    sides = ((UNSEEN / f"phrasebook.{side}").read_text("utf-8").splitlines() for side in ("fr", "en"))
    return list(zip(*sides, strict=True))


def test_nearly_every_word_that_is_said_is_one_piece(train):
    """A piece that two unlike words share lets the end of one follow the beginning of the other."""
    pairs = list(with_typographic_apostrophes(train))
    tokenizer = Tokenizer.train(pairs, PHRASEBOOK["vocabulary_size"])
    for encode, side, least in ((tokenizer.encode_source, 0, 0.97), (tokenizer.encode_target, 1, 0.99)):
        counts = Counter(word for pair in pairs for word in WORD.findall(pair[side]))
        pieces = dict(zip(counts, (len(ids) - 1 for ids in encode(list(counts))), strict=True))
        whole = sum(count for word, count in counts.items() if pieces[word] == 1)
        assert whole / counts.total() > least


@pytest.mark.parametrize(
    "word", ["room", "rooms", "table", "tickets", "nights", "people", "thank", "much", "book"]
)
def test_a_word_of_travel_is_known_from_many_sentences(train, word):
    said = {pair.target for pair in train if re.search(rf"\b{word}\b", pair.target, re.IGNORECASE)}
    assert len(said) >= 50


def test_everything_can_be_booked_by_everyone():
    sentences = [booking.fill(booked, booker) for booked in BOOKINGS for booker in BOOKERS]
    assert all(sentences)
    numbers = [(number_in_french(count), number_in_english(count)) for count in range(2, 11)]
    for sentence in sentences:
        for source, target in numbers:
            assert (f" {source} " in sentence.french) == (f" {target} " in sentence.english)


def test_a_greeted_wish_is_the_greeting_and_the_wish():
    wish = SentencePair("Je voudrais une pomme, s'il vous plaît.", "I would like an apple, please.")
    question = SentencePair("Combien coûte ce livre ?", "How much does this book cost?")
    assert greeting.fill(("bonjour", "hello"), wish) == SentencePair(
        "Bonjour, je voudrais une pomme, s'il vous plaît.", "Hello, I would like an apple, please."
    )
    assert greeting.fill(("excusez-moi", "excuse me"), question) == SentencePair(
        "Excusez-moi, combien coûte ce livre ?", "Excuse me, how much does this book cost?"
    )


@pytest.mark.parametrize(
    ("sentence", "half"),
    [
        ("My sister is ill.", "my sister is ill."),
        ("I am ill.", "I am ill."),
        ("Paul is ill.", "Paul is ill."),
        ("Julie, close the door.", "Julie, close the door."),
    ],
)
def test_the_second_half_of_a_sentence_keeps_the_capitals_of_names_alone(sentence, half):
    assert lowered(sentence) == half


def test_who_is_named_first_is_a_pronoun_in_the_second_half():
    people, firsts, seconds, days = and_then.slots
    marie = [person for person in people if person.french == "Marie"]
    said = [
        and_then.fill(person, first, second, day)
        for person in marie for first in firsts[:40:5] for second in seconds[::5] for day in days
    ]  # fmt: skip
    sentences = [sentence for sentence in said if sentence]
    assert sentences
    for sentence in sentences:
        assert re.fullmatch(r"(?:.+, )?Marie .+ et elle .+\.", sentence.french)
        assert re.fullmatch(r"(?:.+, )?Marie .+ and she .+\.", sentence.english)


def test_a_sentence_is_joined_to_those_of_other_frames_and_never_to_one_of_its_own(train):
    kinds = {"sky": r"\bit (?:is|was|will|is going to) (?:not )?(?:be )?(?:cold|hot|raining)",
             "taste": r"\b(?:likes?|hates?) coffee\b", "age": r"\byears old\b"}  # fmt: skip
    joined = [pair.target for pair in train if re.search(r" and |, but ", pair.target)]
    for kind in kinds.values():
        said = [target for target in joined if re.search(kind, target, re.IGNORECASE)]
        assert said
        assert [target for target in said if len(re.findall(kind, target, re.IGNORECASE)) > 1] == []


def test_none_of_the_unseen_sentences_is_in_the_training_text_and_all_their_words_are(train, unseen):
    """docs/decisions/recipe.md measures with them what a model makes of new combinations."""
    assert len(set(unseen)) == 200
    assert not {side for pair in train for side in pair} & {side for pair in unseen for side in pair}
    for side in (0, 1):
        counts = Counter(word for pair in train for word in WORD.findall(pair[side].lower()))
        words = {word for pair in unseen for word in WORD.findall(pair[side].lower())}
        assert {word for word in words if counts[word] < 5} == set()
