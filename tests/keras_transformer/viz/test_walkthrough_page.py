"""The page: complete, self-contained, sound HTML."""

import re
from html.parser import HTMLParser

import pytest

from keras_transformer.viz.folder import MARK
from keras_transformer.viz.walkthrough.content import ExampleStep, WorkedExample
from keras_transformer.viz.walkthrough.page import page, page_files

VOID = {"meta", "br", "img", "link", "input", "hr"}


class Checker(HTMLParser):
    """Every tag closed in order; collects ids, links and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.attributes(attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes(attrs)

    def attributes(self, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "xlink:href", "src", "srcset", "data", "action"):
                self.references.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def html(examples: list[tuple[int, WorkedExample]]) -> str:
    return page(examples)


@pytest.fixture(scope="module")
def checked(html: str) -> Checker:
    checker = Checker()
    checker.feed(html)
    checker.close()
    return checker


def test_every_tag_is_closed_and_every_id_is_unique(checked: Checker) -> None:
    assert checked.open == []
    assert len(checked.ids) == len(set(checked.ids))


def test_nothing_is_fetched(html: str, checked: Checker) -> None:
    assert "://" not in html
    assert html.count("<script") == html.count('<script type="module">') == 1
    assert "@import" not in html
    inside = {f"#{name}" for name in checked.ids}
    for reference in checked.references:
        assert reference in inside or reference.startswith("data:image/png;base64,")
    assert set(re.findall(r"url\(([^)]*)\)", html)) <= inside
    assert "default-src 'none'" in html


def test_every_example_and_every_picture_is_there(
    html: str, checked: Checker, examples: list[tuple[int, WorkedExample]]
) -> None:
    for number, example in examples:
        assert f"example-{number}" in checked.ids
        assert f"#example-{number}" in checked.references
        assert example.title in "".join(checked.text)
        for step in example.steps:
            if step.picture:
                assert html.count(f'<div role="img" aria-label="{step.picture.title}"><svg') == 1
    assert html.count("<svg") == 10


def test_the_numbers_are_there(html: str) -> None:
    for number in (
        "0.422319",
        "0.844638",
        "0.731059",
        "-0.416147",
        "-1.341639",
        "0.618015",
        "1 × 8 × 10 × 10",
    ):
        assert f"<td>{number}</td>" in html


def test_light_dark_and_phone(html: str) -> None:
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in html
    assert "color-scheme: light dark" in html


def test_words_are_escaped_and_formulas_are_set() -> None:
    step = ExampleStep("a < b & c", formula="W_Q x^2 10000^(2i/d) e^-3", by_hand="e^0.35 <eos>", remark="<b>")
    shown = page([(1, WorkedExample("<title>", "<i>", (step,), "a < b"))])
    assert "W<sub>Q</sub> x<sup>2</sup> 10000<sup>2i/d</sup> e<sup>-3</sup>" in shown
    assert "e<sup>0.35</sup> &lt;eos&gt;" in shown
    assert "a &lt; b &amp; c" in shown
    assert "<b>" not in shown.replace("<b>By hand</b>", "")


def test_files_are_the_page_and_its_pictures(examples: list[tuple[int, WorkedExample]]) -> None:
    files = page_files(examples[2:3])
    assert list(files) == ["index.html", "positions.png", "similarity.png"]
    assert MARK.encode() in files["index.html"]
    assert b"example-3" in files["index.html"]
    assert b"example-1" not in files["index.html"]
