"""The written pages in a real browser: each at two widths, light and dark, and what can be done on them."""

from typing import TYPE_CHECKING, Literal

import pytest
from playwright.sync_api import expect

from keras_transformer import TranslationModel
from keras_transformer.evaluation.scores import score, sentence_chrf
from keras_transformer.viz import worst_sentences
from keras_transformer.viz.attention_page import attention_page
from keras_transformer.viz.heads import Choice, heads_of
from keras_transformer.viz.walkthrough.content import WorkedExample
from keras_transformer.viz.walkthrough.page import page as walkthrough_page
from tests.support.browser import errors, requested

if TYPE_CHECKING:
    from playwright.sync_api import Page

SOURCES = ["Le chat dort.", "Je suis étudiant.", "Merci.", "Il pleut.", "Il neige."]
REFERENCES = ["The cat sleeps.", "I am a student.", "Thanks.", "It is raining.", "It is snowing."]
OURS = ["The cat sleep.", "I am a doctor.", "Thanks!", "xyz", "It snows."]
OTHERS = ["A dog.", "I am a student.", "Thanks.", "It is raining", "It snows."]


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
    page.goto(addresses["worst"])
    return page


def expect_lines(page: "Page", *lines: int) -> None:
    """Wait until these sentences are shown, in this order, and are counted."""
    shown = page.locator("ol.sentences > li:visible")
    expect(page.locator("nav [role=status]")).to_have_text(f"{len(lines)} of 5 shown")
    assert shown.evaluate_all("items => items.map(item => Number(item.dataset.line))") == list(lines)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["attention", "walkthrough", "worst"])
def test_a_page_fits_its_window_and_loads_nothing_else(
    page: "Page", addresses: dict[str, str], name: str, width: int, scheme: Literal["light", "dark"]
) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(addresses[name])
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert [url for url in requested(page) if not url.startswith("data:")] == [addresses[name]]
    assert errors(page) == []


def test_sentences_are_sorted_filtered_and_searched(worst: "Page") -> None:
    order, filter_, search = (worst.get_by_label(label) for label in ("Order", "Show", "Search"))
    chrf = sentence_chrf(OURS, REFERENCES)
    lowest_first = sorted(range(1, 6), key=lambda line: chrf[line - 1])
    expect_lines(worst, *lowest_first)
    order.select_option("as in the file")
    expect_lines(worst, 1, 2, 3, 4, 5)
    filter_.select_option("worse than theirs")
    expect_lines(worst, 2, 3, 4)
    filter_.select_option("better than theirs")
    expect_lines(worst, 1)
    filter_.select_option("chrF below 30")
    low = [line for line in range(1, 6) if chrf[line - 1] < 30]
    assert 0 < len(low) < 5
    expect_lines(worst, *low)
    filter_.select_option("all")
    for text, lines in (("ETUDIANT", [2]), ("thanks", [3]), ("a d", [1, 2]), ("Reference", [])):
        search.fill(text)
        expect_lines(worst, *lines)
    search.fill("")
    order.select_option("lowest chrF first")
    expect_lines(worst, *lowest_first)


def test_signatures_are_folded_until_they_are_wanted(worst: "Page") -> None:
    expect(worst.locator("header thead th")).to_have_text(["Score", "ours", "95 % interval"])
    signature = worst.locator("header details p").first
    expect(signature).to_be_hidden()
    worst.get_by_text("Signatures of the scores").click()
    expect(signature).to_be_visible()


def test_each_example_has_a_way_back_to_the_top_and_tables_as_wide_as_the_page(
    page: "Page", addresses: dict[str, str]
) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(addresses["walkthrough"])
    back = page.get_by_role("link", name="Back to the top")
    expect(back).to_have_count(9)
    back.nth(4).click()
    page.wait_for_function("scrollY === 0")
    missing = page.locator(".shown:not(:has(figure))").evaluate_all(
        "boxes => boxes.map(box => box.clientWidth - box.querySelector('table').offsetWidth)"
    )
    assert len(missing) > 5
    assert max(missing) <= 1


def test_the_contents_stay_in_sight_beside_the_examples_and_are_folded_on_a_phone(
    page: "Page", addresses: dict[str, str]
) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(addresses["walkthrough"])
    links, title = page.locator("nav a"), page.locator("section h2").nth(6)
    links.nth(6).click()
    expect(title).to_be_in_viewport()
    expect(links.nth(6)).to_be_in_viewport()
    expect(links.nth(6)).to_have_attribute("aria-current", "location")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(links.first).to_be_hidden()
    page.locator("nav summary").click()
    links.nth(3).click()
    expect(links.first).to_be_hidden()
    expect(page.locator("section h2").nth(3)).to_be_in_viewport()
    expect(page.locator("nav summary")).to_be_in_viewport()
    name = links.nth(3).evaluate("link => link.lastChild.textContent")
    expect(page.locator("nav summary")).to_contain_text(name)


def test_pictures_of_weights_have_the_scale_of_the_theme_and_its_legend(
    page: "Page", addresses: dict[str, str]
) -> None:
    page.goto(addresses["walkthrough"])
    picture = page.locator("figure:has(figcaption)").first
    expect(picture.locator("figcaption")).to_have_text("weight 0  1")
    cell = picture.locator("[clip-path]").first
    light = cell.evaluate("cell => getComputedStyle(cell).fill")
    page.emulate_media(color_scheme="dark")
    expect(cell).not_to_have_css("fill", light)
