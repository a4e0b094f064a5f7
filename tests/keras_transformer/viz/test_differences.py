"""Which words are marked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.viz.differences import differences

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "A", ".", "été"]), max_size=12).map(" ".join)


def marked(one: str, other: str, lowercase: bool = False) -> tuple[list[str], list[str]]:
    ones, others = differences(one, other, lowercase)
    return [one[place] for place in ones], [other[place] for place in others]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a b c d", "a x c", (["b", "d"], ["x"])),
        ("I am a student.", "I am a doctor.", (["student"], ["doctor"])),
        ("I am a student.", "I am a student", (["."], [])),
        ("one two three", "three", (["one two"], [])),
        ("same  text", "same text", ([], [])),
        ("", "all new", ([], ["all new"])),
        ("", "", ([], [])),
        ("l'été", "l'hiver", (["été"], ["hiver"])),
        ("这是一个测试。", "这是一次测试。", (["个"], ["次"])),
        ("नमस्ते दुनिया", "नमस्ते दुनियां", (["दुनिया"], ["दुनियां"])),
        ("the 👩‍👩‍👧 family", "the 👨‍👩‍👧 family", (["👩‍👩‍👧"], ["👨‍👩‍👧"])),
    ],
)
def test_words_that_differ(one: str, other: str, expected: tuple[list[str], list[str]]) -> None:
    assert marked(one, other) == expected


def test_case_is_a_difference_unless_it_is_said_not_to_be() -> None:
    assert marked("The dog", "the dog") == (["The"], ["the"])
    assert marked("The dog", "the dog", lowercase=True) == ([], [])


@given(TEXTS, TEXTS)
def test_what_is_not_marked_is_the_same_in_both(one: str, other: str) -> None:
    ones, others = differences(one, other)

    def rest(text: str, places: list[slice]) -> list[str]:
        for place in reversed(places):
            text = text[: place.start] + " " + text[place.stop :]
        return text.split()

    assert rest(one, ones) == rest(other, others)


@given(TEXTS)
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert differences(text, text) == ([], [])


@pytest.mark.timeout(100)
def test_a_thousand_characters_of_the_same_two_words_are_told_apart_before_long() -> None:
    assert differences("a " * 500, "a b " * 250) != ([], [])
    assert differences("a " * 500, "a b " * 99) != ([], [])
