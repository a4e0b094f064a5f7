"""Every page that a command writes is one that axe-core finds nothing wrong with."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from keras_transformer import TranslationModel
from keras_transformer.evaluation.scores import score
from keras_transformer.evaluation.significance import compare
from keras_transformer.viz import worst_sentences
from keras_transformer.viz.attention_page import attention_page
from keras_transformer.viz.heads import Choice, heads_of
from keras_transformer.viz.walkthrough import page as walkthrough
from keras_transformer.viz.walkthrough.content import WorkedExample

if TYPE_CHECKING:
    from playwright.sync_api import Page

SOURCES = ["Le chat dort.", "Je suis étudiant.", "Il pleut."]
REFERENCES = ["The cat sleeps.", "I am a student.", "It is raining."]
OURS, OTHERS = ["A cat sleeps.", "I am a doctor.", "xyz"], ["A dog.", "I am a student.", "It is raining"]


@pytest.fixture
def opened(page: "Page", tmp_path: Path) -> Callable[[str], "Page"]:
    """opened(html): the page, in the browser."""

    def open_page(html: str) -> "Page":
        path = tmp_path / "page.html"
        path.write_text(html, "utf-8")
        page.goto(path.as_uri())
        return page

    return open_page


def test_the_attention_page(
    opened: Callable[[str], "Page"], violations_in: Callable[[str], list[str]], model: TranslationModel
) -> None:
    page = opened(attention_page(heads_of(model, "Je suis étudiant.", "I am a student."), Choice()))
    page.locator("#map tbody td").nth(3).hover()
    expect(page.locator("#tip")).to_be_visible()
    assert violations_in("attention") == []


def test_the_walkthrough(
    opened: Callable[[str], "Page"],
    violations_in: Callable[[str], list[str]],
    examples: list[tuple[int, WorkedExample]],
) -> None:
    page = opened(walkthrough.page(examples))
    page.locator("section summary").first.click()
    assert violations_in("walkthrough") == []


def test_the_worst_sentences(
    opened: Callable[[str], "Page"], violations_in: Callable[[str], list[str]]
) -> None:
    opened(
        worst_sentences.page(
            SOURCES,
            REFERENCES,
            OURS,
            OTHERS,
            names=("run", "other"),
            scores=score(OURS, REFERENCES),
            compared=compare(OURS, OTHERS, REFERENCES),
        )
    )
    assert violations_in("worst") == []
