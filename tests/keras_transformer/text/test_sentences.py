"""A line comes apart where its sentences end, and together again as it was."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keras_transformer.phrasebook import phrasebook
from keras_transformer.text.sentences import Lengths, Parts, sentence_gaps
from keras_transformer.text.tokenizer import Tokenizer

APART = Lengths(whole=0, longest=10**6)


def apart(line: str) -> list[str]:
    return Parts.of(line, len, APART).texts


@pytest.mark.parametrize(
    "line",
    [
        "Il est là. | Il dort ! | Où est-il ? | Ici… | Non.",
        "Quoi ?! | Non !? | Vraiment?!... | Oui.",
        "« Oui. » | Il part. | «Non.» | Elle reste. | « Tu viens ? » dit-il.",
        "“Yes.” | He left. | ‘No.’ | She stayed (for now). | (It rained.) | [Really.] | 'So.' | Yes.",
        "„Ja.“ | Er ging. | »Nein.« | Sie blieb.",
        "¿Qué? | ¡No! | Sí.",
        "– Bonjour. | – Au revoir. | * Un. | • Deux.",
        "He waited... and left. | She waited... | Then she left.",
        "It costs 3.14 euros. | 1.000 are 1,000. | 2 are enough.",
        "In 1999. | He left.",
        "M. Dupont et Mme. Durand, J.-P. Roux, (M. Petit), l'art. 5, d'A. Noir. | MM. Roux sont là.",
        "Dr. Smith met J. R. R. Tolkien and J.R.R. Martin. | They spoke.",
        "Some fruit, e.g. Apples, i.e. These. | The end.",
        "Obst, z. B. Äpfel, d. h. Früchte, bzw. Beeren. | Ende.",
        "At 5 p.m. on Monday, at 7 a.m. Tuesday. | He left.",
        "Am 3. Mai kam er. | Am 12. Juli ging er.",
        "1. Introduction. | 2. Method.",
        "See fig. 3 and No. 5 of vol. 2 here. | Is it so? | No. | He did not.",
        "Smith et al. (2019) said so. | We agree etc. | It ends.",
        "See https://example.org/a.b?c=2. | Go to www.example.org/?q. | Done.",
        "a man walks . | a dog runs . | it rains",
        "We need iPhones. iPads, too.",
        "هل أنت بخير؟ | نعم. | شكرا.",
        "मैं छात्र हूँ। | तुम कौन हो?",
        "Merci. 🙂 Non. 🙂",
    ],
)
def test_sentences_end_where_a_reader_sees_them_end(line: str) -> None:
    assert apart(line.replace(" | ", " ")) == line.split(" | ")


@pytest.mark.parametrize(
    "line",
    [
        "你好。|我是学生！|你呢？|好｡",
        "「はい。」と言った。|「そうです。|ね。」",
        "“你好。”他说。|好。",
        "第3.5章。|Yes。|是",
    ],
)
def test_chinese_and_japanese_need_no_space(line: str) -> None:
    assert apart(line.replace("|", "")) == line.split("|")


def test_white_space_around_and_between_stays() -> None:
    parts = Parts.of("\t Non.  Oui.\u3000\u00a0Si.\n ", len, APART)
    assert parts.texts == ["Non.", "Oui.", "Si."]
    assert parts.gaps == ["\t ", "  ", "\u3000\u00a0", "\n "]
    assert parts.joined(["No.", "Yes.", "Yes!"]) == "\t No.  Yes.\u3000\u00a0Yes!\n "


@pytest.mark.parametrize("line", ["", " ", "\t\u3000 \x85"])
def test_a_blank_line_has_no_parts(line: str) -> None:
    assert Parts.of(line, len, APART) == ([], [line], 0)
    assert Parts.of(line, len, APART).joined([]) == line


def test_spaces_between_sentences_are_those_of_the_translation() -> None:
    chinese, english = "你好。我是学生。“好。”", "Hello. I am a student. “Good.”"
    assert Parts.of(chinese, len, APART).joined(["Hello.", "I am “a student.”", "“Good.”"]) == (
        "Hello. I am “a student.” “Good.”"
    )
    assert (
        Parts.of(english, len, APART).joined(["你好。", "我是“学生。”", "“好。”"])
        == "你好。我是“学生。”“好。”"
    )
    assert Parts.of("Hello.  Yes. ", len, APART).joined(["你好。", "好。"]) == "你好。  好。 "
    assert Parts.of(chinese, len, APART).joined(["", "I.", "Good."]) == "I. Good."


def test_a_translation_for_each_part_is_needed() -> None:
    for translations in (["No."], ["No.", "Yes.", "More."]):
        with pytest.raises(ValueError, match="zip"):
            Parts.of("Non. Oui.", len, APART).joined(translations)


def test_a_line_as_long_as_known_lines_of_several_sentences_stays_together() -> None:
    line = " La clé ? Je l'ai. "  # 17 characters without the space around
    assert Parts.of(line, len, Lengths(17, 100)).texts == ["La clé ? Je l'ai."]
    assert Parts.of(line, len, Lengths(17, 100, 17)).texts == ["La clé ? Je l'ai."]
    for lengths in (Lengths(16, 100), Lengths(30, 100, 18)):
        assert Parts.of(line, len, lengths).texts == ["La clé ?", "Je l'ai."]


def test_a_sentence_that_is_too_long_is_divided_near_its_middle_at_a_clause_mark_or_a_space() -> None:
    def halved(line: str, longest: int) -> tuple[list[str], int]:
        parts = Parts.of(line, len, Lengths(0, longest))
        return parts.texts, parts.divided

    assert halved("aaa, bbb, ccc ddd eee fff.", 18) == (["aaa, bbb,", "ccc ddd eee fff."], 1)
    assert halved("aaa bbb ccc, ddd eee.", 20) == (["aaa bbb ccc,", "ddd eee."], 1)
    assert halved("a, bbb ccc ddd eee fff.", 20) == (
        ["a, bbb ccc", "ddd eee fff."],
        1,
    )  # the comma is far off
    assert halved("你好，我是学生，你呢。", 8) == (["你好，", "我是学生，你呢。"], 1)
    assert halved("abcdefgh", 4) == (["abcd", "efgh"], 1)
    assert halved("Non. aaa bbb. Oui. ccc ddd.", 5) == (["Non.", "aaa", "bbb.", "Oui.", "ccc", "ddd."], 2)
    assert halved("Non. Aaa bbb.", 8) == (["Non.", "Aaa bbb."], 0)


def test_what_a_model_knows_is_told_by_its_corpus() -> None:
    single = ["x" * 30] * 395
    assert Lengths.learned_from([*single, *["x"] * 5], len) == (0, 30, 0)
    # of 400 lines the two shortest and the two longest that have several sentences may be chance
    four = ["Aa. B.", " Aa. Bbbb.", "Aa. Bb.", "Aa. Bbbbbbbb."]
    assert Lengths.learned_from([*single, *four, "x"], len) == (0, 30, 0)
    assert Lengths.learned_from([*single, *four, "Aa. Bbb."], len) == (8, 30, 8)
    assert Lengths.learned_from([*single[1:], *four, "Aa. Bbb.", "Aa. Bbb. "], len) == (9, 30, 8)
    assert Lengths.learned_from(["Aa. Bb."] * 100, len) == (7, 7, 7)


def test_too_few_lines_tell_nothing_each_sentence_is_by_itself_then() -> None:
    assert Lengths.learned_from(["Aa. Bb."] * 99, len) == Lengths.learned_from([], len) == (0, 128, 0)


def test_no_part_is_longer_than_what_the_model_can_read() -> None:
    assert Lengths(90, 128, 40).within(64) == (64, 64, 40)
    assert Lengths(9, 12, 4).within(64) == (9, 12, 4)


LENGTHS = Lengths(whole=0, longest=12)
PARAGRAPHS = "  Bonjour. Ça va ?\n\n\t\nOui, merci.  Et toi ?\r\n"


def test_the_lines_of_a_text_are_divided_one_by_one_and_joined_as_they_were() -> None:
    parts = Parts.of(PARAGRAPHS, len, LENGTHS)
    assert parts.texts == ["Bonjour.", "Ça va ?", "Oui, merci.", "Et toi ?"]
    assert parts.gaps == ["  ", " ", "\n\n\t\n", "  ", "\r\n"]
    assert parts.joined(parts.texts) == PARAGRAPHS
    assert parts.joined(["A.", "B?", "C.", "D?"]) == "  A. B?\n\n\t\nC.  D?\r\n"


@given(st.text(alphabet="ab日。.?! \n\r\t😀", max_size=60))
def test_a_text_that_is_translated_into_itself_stays(text: str) -> None:
    parts = Parts.of(text, len, LENGTHS)
    assert parts.joined(parts.texts) == text
    whole = [parts.begun(parts.texts[:some]) for some in range(1, len(parts.texts) + 1)]
    assert all(text.startswith(each) for each in whole)
    assert all(len(each) <= LENGTHS.longest for each in parts.texts)


TEXT = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "M.",
                "a.m.",
                "Oui.",
                "no.",
                "3.",
                "...",
                "?",
                "!",
                "。",
                "」",
                "«",
                "»",
                "“",
                ",",
                ";",
                "،",
                "।",
            ]
        ),
        st.sampled_from([" ", "  ", "\t", "\u00a0", "\u3000", "\r", "\0", "\u200b"]),
        st.text(max_size=6),
        st.text("aB .。,!?", max_size=40),
    ),
    max_size=30,
).map("".join)


@settings(deadline=None)
@given(TEXT, st.integers(0, 40), st.integers(1, 40))
@example(". " * 5000, 0, 1)
@example("a" * 10_000, 0, 3)
def test_joining_what_was_split_gives_the_line_and_no_part_is_blank_or_too_long(
    line: str, whole: int, longest: int
) -> None:
    parts = Parts.of(line, len, Lengths(whole, longest))
    assert parts.joined(parts.texts) == line
    assert "".join(a + b for a, b in zip(parts.gaps, [*parts.texts, ""], strict=True)) == line
    assert all(text == text.strip() != "" for text in parts.texts)
    assert all(gap == "" or gap.isspace() for gap in parts.gaps)
    assert all(len(text) <= longest for text in parts.texts)


@settings(deadline=None)
@given(TEXT)
@example("M.\n0")
def test_without_a_limit_nothing_but_lines_and_the_gaps_between_sentences_divides(text: str) -> None:
    parts = Parts.of(text, len, APART)
    assert parts.divided == 0
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    assert len(parts.texts) == sum(len(list(sentence_gaps(line))) + 1 for line in lines)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(phrasebook("fr-en", "train", 200), 400)


@settings(deadline=None)
@given(TEXT, st.integers(8, 30))
def test_limits_are_in_the_tokenizers_tokens(tokenizer: Tokenizer, line: str, longest: int) -> None:
    parts = Parts.of(line, tokenizer.count_source, Lengths(0, longest))
    assert parts.joined(parts.texts) == line
    assert all(tokenizer.count_source(text) <= longest for text in parts.texts)


def test_the_phrasebook_has_lines_of_two_sentences_and_the_splitter_finds_them_all() -> None:
    sources = [pair.source for pair in phrasebook("fr-en", "train", 2000)]
    plain = [len(re.findall(r"[.?!](?= [A-ZÀ-Ý])", re.sub(r"\bM\.|Mme\.", "M", text))) for text in sources]
    assert [len(list(sentence_gaps(text))) for text in sources] == plain
    assert sum(count > 0 for count in plain) > 50


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "unit", [".", ". ", "a", "a ", "a, ", "!)", "A. B ", ',"', " ", "「", "。", "Ab. ", "a.b."]
)
def test_a_hundred_thousand_characters_take_no_square_of_that(unit: str) -> None:
    line = unit * (100_000 // len(unit))
    parts = Parts.of(line, len, Lengths(0, 30))
    assert parts.joined(parts.texts) == line
