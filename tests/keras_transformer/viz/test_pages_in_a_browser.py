"""The written pages in a real browser: each at two widths, light and dark, and what can be done on them."""

from typing import TYPE_CHECKING

import pytest

from keras_transformer import TranslationModel
from keras_transformer.evaluation.scores import score, sentence_chrf
from keras_transformer.viz import worst_sentences
from keras_transformer.viz.attention_page import attention_page
from keras_transformer.viz.heads import Choice, heads_of
from keras_transformer.viz.walkthrough.content import WorkedExample
from keras_transformer.viz.walkthrough.page import page as walkthrough_page
from tests.support.accessibility import accessibility_problems

if TYPE_CHECKING:
    from tests.browser import Page

SOURCES = ["Le chat dort.", "Je suis étudiant.", "Merci.", "Il pleut."]
REFERENCES = ["The cat sleeps.", "I am a student.", "Thanks.", "It is raining."]
OURS = ["The cat sleep.", "I am a doctor.", "Thanks!", "xyz"]
OTHERS = ["A dog.", "I am a student.", "Thanks.", "It is raining"]


@pytest.fixture(scope="module")
def addresses(
    tmp_path_factory: pytest.TempPathFactory,
    model: TranslationModel,
    examples: list[tuple[int, WorkedExample]],
) -> dict[str, str]:
    """Each written page by its name."""
    pages = {
        "attention": attention_page(heads_of(model, SOURCES[1], REFERENCES[1]), Choice()),
        "walkthrough": walkthrough_page(examples),
        "worst": worst_sentences.page(
            SOURCES, REFERENCES, OURS, OTHERS, names=("ours", "theirs"), scores=score(OURS, REFERENCES)
        ),
    }
    directory = tmp_path_factory.mktemp("pages")
    for name, content in pages.items():
        (directory / f"{name}.html").write_text(content, "utf-8")
    return {name: (directory / f"{name}.html").as_uri() for name in pages}


@pytest.fixture
def worst(page: "Page", addresses: dict[str, str]) -> "Page":
    page.open(addresses["worst"])
    return page


def lines(page: "Page") -> list[int]:
    """The sentences that are shown, in order, by their lines."""
    return page.run(
        """[...document.querySelectorAll("ol.sentences > li")].filter(item => !item.hidden)
  .map(item => Number(item.dataset.line))"""
    )


def choose(page: "Page", control: str, value: str) -> None:
    page.run(
        f"""(() => {{ const control = document.querySelector('{control}'); control.value = '{value}';
  control.dispatchEvent(new Event('change')); control.dispatchEvent(new Event('input')); }})()"""
    )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["attention", "walkthrough", "worst"])
def test_a_page_fits_its_window_and_axe_finds_no_serious_problem(
    page: "Page", addresses: dict[str, str], name: str, width: int, dark: bool
) -> None:
    page.prefer(dark)
    page.resize(width, 844)
    page.open(addresses[name])
    assert page.run("document.documentElement.scrollWidth") == width
    assert accessibility_problems(page) == []
    assert [each for each in page.requests if not each.startswith("data:")] == [addresses[name]]
    assert page.errors == []


def test_sentences_are_sorted_filtered_and_searched(worst: "Page") -> None:
    first = lines(worst)
    assert sorted(first) == [1, 2, 3, 4]
    assert worst.text("nav [role=status]") == "4 of 4 shown"
    choose(worst, "nav label:nth-of-type(1) select", "line")
    assert lines(worst) == [1, 2, 3, 4]
    choose(worst, "nav label:nth-of-type(2) select", "behind")
    assert lines(worst) == [2, 3, 4]
    choose(worst, "nav label:nth-of-type(2) select", "ahead")
    assert lines(worst) == [1]
    choose(worst, "nav label:nth-of-type(2) select", "low")
    low = [line for line, chrf in enumerate(sentence_chrf(OURS, REFERENCES), 1) if chrf < 30]
    assert lines(worst) == low != []
    choose(worst, "nav label:nth-of-type(2) select", "all")
    for text, found in (("ETUDIANT", [2]), ("thanks", [3]), ("a d", [1, 2]), ("Reference", [])):
        choose(worst, "nav input", text)
        assert lines(worst) == found
        assert worst.text("nav [role=status]") == f"{len(found)} of 4 shown"
    choose(worst, "nav input", "")
    choose(worst, "nav label:nth-of-type(1) select", "chrf")
    assert lines(worst) == first


def test_signatures_are_folded_until_they_are_wanted(worst: "Page") -> None:
    assert worst.texts("header thead th") == ["Score", "ours", "95 % interval"]
    signature = "document.querySelector('header details p').checkVisibility()"
    assert not worst.run(signature)
    worst.click("header summary")
    assert worst.run(signature)


def test_each_example_has_a_way_back_to_the_top_and_tables_as_wide_as_the_page(
    page: "Page", addresses: dict[str, str]
) -> None:
    page.open(addresses["walkthrough"])
    page.run("document.documentElement.style.scrollBehavior = 'auto'")
    assert page.run("document.querySelectorAll('.up a').length") == 9
    page.click("#example-5 .up a")
    page.until("scrollY === 0")
    tables = page.run(
        """[...document.querySelectorAll('.shown')].filter(each => !each.querySelector('figure'))
  .map(each => each.clientWidth - each.querySelector('table').offsetWidth)"""
    )
    assert len(tables) > 5
    assert max(tables) <= 1


def test_pictures_of_weights_have_the_scale_of_the_theme_and_its_legend(
    page: "Page", addresses: dict[str, str]
) -> None:
    page.open(addresses["walkthrough"])
    assert page.texts("figure:has(figcaption) .scale")[0] == "weight 0  1"
    fill = "getComputedStyle(document.querySelector('figure:has(figcaption) [clip-path]')).fill"
    light = page.run(fill)
    page.prefer(dark=True)
    page.until(f"{fill} !== '{light}'")
