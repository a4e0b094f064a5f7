"""Cleaning keeps the pairs worth training on, and says what it dropped and why."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.phrasebook import phrasebook
from keras_transformer.text.cleaning import CleaningReport, CleaningRules, DroppedPair, clean
from keras_transformer.text.corpus import CorpusError, Pair
from keras_transformer.text.tokenizer import Tokenizer

GOOD = Pair("Je suis étudiant.", "I am a student.")


def cleaned(*pairs, **rules):
    report = CleaningReport()
    return list(clean([GOOD, *(Pair(*pair) for pair in pairs)], CleaningRules(**rules), report))[1:], report


def reasons(*pairs, **rules):
    return cleaned(*pairs, **rules)[1].dropped


def test_white_space_of_every_kind_becomes_one_space_and_what_nobody_sees_goes():
    kept, report = cleaned(("\u3000un\u00a0\u202fdeux\t\r\n trois\u2028", "\ufeffone\0two\x0b\x85three"))
    assert kept == [("un deux trois", "onetwo three")]
    assert report.dropped == {}


@pytest.mark.parametrize("nothing", ["", " ", "\t\r\n", "\u3000\u2003", "\0", "\0 \0", "\u200b\ufeff"])
def test_pairs_with_an_empty_side_are_dropped(nothing):
    assert reasons((nothing, "one"), ("un", nothing), (nothing, nothing)) == {"empty": 3}


def test_limits_are_the_last_length_that_is_kept():
    assert reasons(("a" * 9, "b" * 9), ("a" * 10, "b" * 9), max_characters=17) == {}
    assert reasons(("é" * 18, "b" * 15), max_characters=17) == {"more than 17 characters": 1}
    assert reasons(("a b c", "d e f g"), max_words=4) == {}
    assert reasons(("a b c", "d e f g h"), max_words=4) == {"more than 4 words": 1}


def test_the_length_ratio_forgives_short_sentences():
    # (26 + 10) / (2 + 10) = 3 is kept. (27 + 10) / (2 + 10) = 3.08 is not, nor (90 + 10) / (20 + 10) = 3.33
    assert reasons(("ab", "c" * 26), max_ratio=3.0) == {}
    assert reasons(("c" * 27, "ab"), ("a" * 90, "b" * 20), max_ratio=3.0) == {"length ratio above 3.0": 2}


def test_the_defaults_keep_what_people_say_in_distant_languages():
    assert (
        reasons(
            ("谢谢。", "Thank you very much."),
            ("我是一名学生，我住在巴黎。", "I am a student and I live in Paris."),
        )
        == {}
    )


def test_untranslated_sentences_are_dropped_and_names_and_numbers_are_kept():
    kept, report = cleaned(
        ("Taxi", "Taxi"),
        ("Charles de Gaulle", "Charles de Gaulle"),
        ("+33 1 23 45 67 89 / 90 / 91", "+33 1 23 45 67 89 / 90 / 91"),
        ("This was never translated.", "This  was never translated."),
    )
    assert [pair.source for pair in kept] == ["Taxi", "Charles de Gaulle", "+33 1 23 45 67 89 / 90 / 91"]
    assert report.dropped == {"copy": 1}
    assert reasons(("This was never translated.",) * 2, drop_copies=False) == {}


def test_duplicates_are_pairs_that_agree_on_both_sides():
    pairs = [
        ("Merci.", "Thanks."),
        ("Merci.", "Thank you."),
        ("Merci.  ", " Thanks."),
        ("Merci. Thanks.", "Merci!"),
    ]
    kept, report = cleaned(*pairs, tuple(GOOD))
    assert kept == [pairs[0], pairs[1], pairs[3]]
    assert report.dropped == {"duplicate": 2}
    assert reasons(*pairs, drop_duplicates=False) == {}
    assert reasons(("ab", "c"), ("a", "bc")) == {}  # the border between the sides counts


def test_spellings_that_look_the_same_are_the_same_sentence():
    tokenizer = Tokenizer.train(phrasebook("fr-en", "train", 300), vocabulary_size=400)
    composed, apart = "Elle a été à Noël.", "Elle a e\u0301te\u0301 a\u0300 Noe\u0308l."
    hidden = "Elle a\u00ad \u200bété à\x07 Noël.\ufeff"
    kept, report = cleaned((composed, "She was."), (apart, "She was."), (hidden, "She was."))
    assert kept == [(composed, "She was.")]
    assert report.dropped == {"duplicate": 2}
    assert tokenizer.encode_source([composed, apart, hidden]) == tokenizer.encode_source([composed]) * 3


def test_the_report_counts_every_pair_once_and_shows_the_first_three_of_each_reason():
    report = cleaned(*[("", f"line {n}") for n in range(2, 7)], ("x" * 2000, "y"), tuple(GOOD))[1]
    assert report.as_dict() == {
        "read": 8,
        "kept": 1,
        "dropped": {"empty": 5, "more than 1000 characters": 1, "duplicate": 1},
        "examples": {
            "empty": [[2, "", "line 2"], [3, "", "line 3"], [4, "", "line 4"]],
            "more than 1000 characters": [[7, "x" * 79 + "…", "y"]],
            "duplicate": [[8, *GOOD]],
        },
    }
    assert json.loads(json.dumps(report.as_dict())) == report.as_dict()
    assert str(report).splitlines() == [
        "kept 1 of 8 pairs (12.5%)",
        "          5  empty",
        "             pair 2: '' | 'line 2'",
        "             pair 3: '' | 'line 3'",
        "             pair 4: '' | 'line 4'",
        "          1  more than 1000 characters",
        f"             pair 7: '{'x' * 79}…' | 'y'",
        "          1  duplicate",
        "             pair 8: 'Je suis étudiant.' | 'I am a student.'",
    ]
    assert report.examples["duplicate"] == [DroppedPair(8, *GOOD)]


def test_pairs_are_cleaned_one_at_a_time():
    report = CleaningReport()
    pairs = clean((GOOD for _ in iter(int, 1)), CleaningRules(drop_duplicates=False), report)  # without end
    assert next(pairs) == next(pairs) == GOOD
    assert (report.read, report.kept) == (2, 2)


@settings(deadline=None)
@given(st.lists(st.tuples(st.text(), st.text()).map(lambda pair: Pair(*pair))))
def test_cleaning_the_clean_changes_nothing(pairs):
    report = CleaningReport()
    once = list(clean([GOOD, *pairs], CleaningRules(), report))
    assert report.read == len(pairs) + 1 == report.kept + sum(report.dropped.values())
    again = CleaningReport()
    assert list(clean(once, CleaningRules(), again)) == once
    assert (again.kept, again.dropped) == (len(once), {})


# What is refused, in which words


def test_wrong_rules_are_told_all_at_once():
    with pytest.raises(ValueError) as error:
        CleaningRules(max_characters=0, max_words=-3, max_ratio=float("nan"), copy_characters=-1)
    assert str(error.value) == (
        "cleaning rules: max_characters must be at least 1; got 0; max_words must be at least 1; got -3; "
        "max_ratio must be at least 1; got nan; copy_characters must be at least 0; got -1"
    )


def test_when_nothing_is_left_each_rule_says_how_many_it_took():
    pairs = [Pair("", "a"), Pair("b", ""), Pair("c" * 50, "d")]
    with pytest.raises(CorpusError) as error:
        list(clean(pairs, CleaningRules(), CleaningReport()))
    message = str(error.value)
    assert message.startswith(
        "cleaning left nothing of 3 pairs: empty (2), length ratio above 4.0 (1). Look at the"
    )
    assert "pair 1: '' | 'a'" in message
    with pytest.raises(CorpusError, match="there was no pair to clean: the corpus is empty"):
        list(clean([], CleaningRules(), CleaningReport()))
