"""The page of the worst sentences: the right ones, in order, complete, and safe whatever they say."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.evaluation.scores import score, sentence_chrf
from keras_transformer.evaluation.significance import compare
from keras_transformer.viz.worst_sentences import MAX_LENGTH, ScoredSentence, page, worst

SOURCES = ["Le chat dort.", "Je suis étudiant.", "Merci.", "Il pleut."]
REFERENCES = ["The cat sleeps.", "I am a student.", "Thanks.", "It is raining."]
OURS = ["The cat sleeps.", "I am a doctor.", "Thanks!", "xyz"]
OTHERS = ["A dog.", "I am a student.", "Thanks.", "It is raining"]
HOSTILE = [
    "<script>document.title = 'mine'</script>",
    "<img src=x onerror=alert(1)>",
    "</dd></dl></li></ol></main><style>body { display: none }</style>",
    "\" ' onmouseover=alert(1) x=' \"",
    "<!-- --> <![CDATA[ ]]> <?php ?>",
    "&lt;b&gt; &amp; &#60;i&#62;",
    "\u202ereversed\u202c",
    "nul \x00 escape \x1b[31m delete \x7f next line \x85",
    "half \ud83d a smile",
]


class Checker(HTMLParser):
    """Every tag closed in order; collects the texts of each sentence, what is marked, and what is fetched."""

    VOID = frozenset({"meta", "br", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.lines: list[int] = []
        self.names: list[list[str]] = []
        self.texts: list[list[str]] = []
        self.marks: list[list[str]] = []
        self.title = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "li":
            self.lines.append(int(dict(attrs)["data-line"] or 0))
            for column in (self.names, self.texts, self.marks):
                column.append([])
        if "li" in self.open and tag in ("dt", "dd", "mark"):
            {"dt": self.names, "dd": self.texts, "mark": self.marks}[tag][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "title":
            self.title += data
        if "li" in self.open:
            for tag, column in (("dt", self.names), ("dd", self.texts), ("mark", self.marks)):
                if tag in self.open:
                    column[-1][-1] += data


class Shown(NamedTuple):
    """A page as a reader has it."""

    html: str
    checker: Checker


def shown(*arguments, **options) -> Shown:  # type: ignore[no-untyped-def]
    html = page(*arguments, **options)
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert checker.open == []
    return Shown(html, checker)


def test_worst_come_first_and_those_that_are_right_not_at_all() -> None:
    found = shown(SOURCES, REFERENCES, OURS).checker
    chrf = sentence_chrf(OURS, REFERENCES)
    assert found.lines == sorted([2, 3, 4], key=lambda line: chrf[line - 1])
    assert found.lines[0] == 4
    assert found.texts[0] == ["Il pleut.", "It is raining.", "xyz"]


def test_words_that_differ_are_marked_on_both_sides() -> None:
    found = shown(SOURCES, REFERENCES, OURS).checker
    marks = dict(zip(found.lines, found.marks, strict=True))
    assert marks == {2: ["student", "doctor"], 3: [".", "!"], 4: ["It is raining.", "xyz"]}


def test_sources_may_be_missing() -> None:
    found = shown(None, REFERENCES, OURS).checker
    assert found.names[0] == ["Reference", "Translation"]
    assert found.texts[0] == ["It is raining.", "xyz"]


def test_the_other_system_stands_beside() -> None:
    found = shown(SOURCES, REFERENCES, OURS, OTHERS, names=("ours", "theirs")).checker
    assert found.names[0] == ["Source", "Reference", "ours", "theirs"]
    assert found.texts[0] == ["Il pleut.", "It is raining.", "xyz", "It is raining"]
    assert found.marks[0] == ["It is raining.", "xyz"]


def test_scores_and_signatures_are_on_top() -> None:
    html = page(
        SOURCES,
        REFERENCES,
        OURS,
        OTHERS,
        scores=score(OURS, REFERENCES),
        compared=compare(OURS, OTHERS, REFERENCES),
    )
    for each, pair in zip(score(OURS, REFERENCES), compare(OURS, OTHERS, REFERENCES), strict=True):
        assert f'<th scope="row">{each.name}</th><td>{each.value:.2f}</td>' in html
        assert (
            f"<td>{each.low:.2f} to {each.high:.2f}</td><td>{pair.other:.2f}</td><td>{pair.p:.3f}</td>"
            in html
        )
        assert f"{each.name}: {each.signature}" in html


def test_a_limit_keeps_the_lowest_and_those_most_behind() -> None:
    def sentence(line: int, chrf: float, other: float | None) -> ScoredSentence:
        return ScoredSentence(line, None, "", "", chrf, None if other is None else "", other)

    sentences = [sentence(1, 10, 0), sentence(2, 90, 100), sentence(3, 20, 20), sentence(4, 50, 99)]
    assert [each.line for each in worst(sentences, 1)] == [1, 4]
    assert [each.line for each in worst(sentences, 2)] == [1, 3, 4, 2]
    alone = [sentence(each.line, each.chrf, None) for each in sentences]
    assert [each.line for each in worst(alone, 2)] == [1, 3]


def test_it_says_how_many_there_are() -> None:
    assert "Of 4 sentences, 1 are exactly as the reference. The page shows all others." in page(
        SOURCES, REFERENCES, OURS
    )
    assert "The page shows 2 of the others, with the lowest chrF." in page(SOURCES, REFERENCES, OURS, limit=2)
    assert "All 4 sentences are exactly as their references." in page(SOURCES, REFERENCES, REFERENCES)


def test_without_case_a_difference_of_case_is_none() -> None:
    upper = [text.upper() for text in REFERENCES]
    assert shown(None, REFERENCES, upper).checker.lines != []
    assert shown(None, REFERENCES, upper, lowercase=True).checker.lines == []


def test_nothing_is_fetched_and_the_only_script_is_the_pages_own() -> None:
    html, found = shown(SOURCES, REFERENCES, OURS, OTHERS)
    assert "://" not in html
    assert "url(" not in html
    assert "@import" not in html
    assert not {"href", "src", "srcset", "style"} & {name for name, _ in found.attributes}
    scripts = re.findall(r"<script type=\"module\">(.*?)</script>", html, re.DOTALL)
    assert len(scripts) == 1
    allowed = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{allowed}'" in html
    assert "default-src 'none'" in html


def test_light_dark_and_phone() -> None:
    html = page(SOURCES, REFERENCES, OURS)
    assert html.count("color-scheme: light dark") == 1
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in html


def test_hostile_text_is_shown_and_not_obeyed() -> None:
    plain = shown(["a"], ["b"], ["c"], ["d"]).checker
    for text in HOSTILE:
        html, found = shown([text], [text], ["no"], [text], names=(text, text))
        assert set(found.tags) == set(plain.tags)
        assert {name for name, _ in found.attributes} == {name for name, _ in plain.attributes}
        assert found.title == "The worst sentences"
        visible = text.translate({0: 0x2400, 0x1B: 0x241B, 0x7F: 0x2421, 0x85: 0xFFFD, 0xD83D: 0xFFFD})
        assert found.texts == [[visible, visible, "no", visible]]
        assert found.names == [["Source", "Reference", visible, visible]]
        assert html.count('<dd dir="auto">') == 4  # which ends a change of direction where the text ends
        html.encode()


@settings(max_examples=60, deadline=None)
@given(st.text(min_size=1), st.text(min_size=1))
def test_any_text_arrives_as_it_is(one: str, other: str) -> None:
    found = shown([other], [one], [other]).checker
    assert len(found.lines) == (one != other)
    signs = {code: 0x2400 + code for code in range(32) if code != 9}
    signs |= {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
    for texts in found.texts:
        assert texts == [text.translate(signs) for text in (other, one, other)]


@pytest.mark.timeout(100)
def test_of_an_endless_line_the_beginning_is_shown() -> None:
    endless = "so " * 100_000
    found = shown(None, ["It is raining."], [endless]).checker
    assert found.texts[0][1] == f"{endless[:MAX_LENGTH]} … (299,000 more characters)"


def test_nothing_is_called_so() -> None:
    assert "<i>nothing</i>" in page(None, ["a"], [""])


def test_what_does_not_pair_up_is_refused() -> None:
    with pytest.raises(ValueError, match="got 1 translations and 4 references"):
        page(SOURCES, REFERENCES, ["one"])
    with pytest.raises(ValueError, match="got 1 translations and 4 references"):
        page(SOURCES, REFERENCES, OURS, ["one"])
    with pytest.raises(ValueError, match="got 1 sources and 4 references"):
        page(["une"], REFERENCES, OURS)
