"""A word of the translation shows what it looked at, and the explorer every weight that the server tells."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.support.browser import errors, requested
from tests.support.serving.web_page import asked, explored, opened, translated

if TYPE_CHECKING:
    from playwright.sync_api import Page

FIRST = "Les enfants aiment le riz."  # of which this model says many words
TEXT = f"{FIRST}\nJe suis étudiant."
NAMES = {"encoder": "Input–Input", "decoder": "Output–Output", "cross": "Input–Output"}


@pytest.fixture
def told(page: "Page", address: str) -> Any:
    """What the server tells of a text that stands on the page, with its translation."""
    opened(page, address)
    translated(page, TEXT)
    return asked(address, "attention", q=TEXT)["parts"]


def weights(part: Any, kind: str) -> np.ndarray:
    return np.reshape(part[kind]["values"], part[kind]["shape"])


def shown(page: "Page") -> np.ndarray:
    rows = page.locator("#map tbody tr").evaluate_all(
        """rows => rows.map(row =>
  [...row.querySelectorAll("td")].map(cell => Number(cell.textContent || cell.ariaLabel)))"""
    )
    return np.array(rows)


def first_words(pieces: list[str]) -> list[list[int]]:
    """The places of the pieces of each word; a word begins with ▁, and the end is none."""
    words: list[list[int]] = []
    for place, piece in enumerate(pieces):
        if piece == "</s>":
            continue
        if piece.startswith("▁") or not words:
            words.append([])
        words[-1].append(place)
    return words


def test_a_word_shades_the_words_that_it_looked_at(page: "Page", told: Any) -> None:
    part = told[0]
    cross, target, source = weights(part, "cross"), first_words(part["target"]), first_words(part["source"])
    looks = cross[-2].mean(axis=0)  # the layer before the last, its heads together
    expected = [looks[np.ix_(target[1], places)].sum(axis=1).mean() for places in source]
    said, mirror, word = page.locator("#looked"), page.locator("#mirror"), page.locator(".word").nth(1)
    expect(said).to_contain_text("Choose a word")
    word.click()
    most = int(np.argmax(expected))
    expect(said).to_contain_text(f"{word.inner_text()} looked at")
    expect(said).to_contain_text(f"{TEXT.split()[most]} {expected[most] * 100:.0f} %")
    layers, heads = cross.shape[:2]
    expect(said).to_contain_text(f"Input–Output, layer {layers - 1} of {layers}, mean of its {heads} heads")
    shares = mirror.locator("span").evaluate_all(
        "spans => spans.map(span => Number(span.style.getPropertyValue('--share')))"
    )
    np.testing.assert_allclose(
        shares[: len(source)], np.where(np.array(expected) < 0.01, 0, expected), atol=1e-4
    )
    assert not any(shares[len(source) :])  # another sentence
    expect(mirror).to_have_js_property("textContent", TEXT + "\u200b")
    word.click()
    expect(said).to_contain_text("Choose a word")
    expect(mirror.locator(".shaded")).to_have_count(0)
    assert errors(page) == []


def test_the_text_and_what_is_shaded_behind_it_lie_exactly_on_each_other(page: "Page", told: Any) -> None:
    text, mirror = page.locator("#text"), page.locator("#mirror")
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 900})
        assert text.bounding_box() == mirror.bounding_box()
        for style in ("font", "lineHeight", "letterSpacing", "padding", "whiteSpace", "overflowWrap"):
            value = f"element => getComputedStyle(element).{style}"
            assert text.evaluate(value) == mirror.evaluate(value)
        assert text.evaluate("text => text.scrollHeight <= text.clientHeight")


def test_every_head_of_every_kind_is_one_click_away(page: "Page", told: Any) -> None:
    explored(page)
    part = told[0]
    for number, (kind, name) in enumerate(NAMES.items()):
        page.locator("#kind label").nth(number).click()
        values = weights(part, kind)
        layers, heads = values.shape[:2]
        for layer, head in np.ndindex(layers, heads):
            page.locator("#layer label").nth(layer).click()
            page.locator("#head label").nth(head).click()
            title = f"{name}, layer {layer + 1} of {layers}, head {head + 1} of {heads}"
            expect(page.locator("#map-title")).to_have_text(title)
            np.testing.assert_allclose(shown(page), values[layer, head], atol=0.00051)
            pressed = page.locator("#overview [aria-pressed=true]")
            expect(pressed).to_have_accessible_name(f"Layer {layer + 1}, head {head + 1}")
    assert errors(page) == []


def test_rows_are_what_looks_and_columns_what_is_looked_at(page: "Page", told: Any) -> None:
    explored(page)
    said, read = readable(told[0]["target"]), ["⟨start⟩", *readable(told[0]["target"][:-1])]
    source = readable(told[0]["source"])
    for number, (rows, columns) in enumerate([(source, source), (read, read), (said, source)]):
        page.locator("#kind label").nth(number).click()
        expect(page.locator("#map tbody th")).to_have_text(rows)
        expect(page.locator("#map thead th span")).to_have_text(columns)


def test_pointing_at_a_cell_tells_its_weight(page: "Page", told: Any) -> None:
    explored(page)
    value = weights(told[0], "cross")[-1, 0, 1, 2]
    page.locator("#map tbody tr").nth(1).locator("td").nth(2).hover()
    row, column = readable(told[0]["target"])[1], readable(told[0]["source"])[2]
    read = ["⟨start⟩", *readable(told[0]["target"])][1]
    said = [f"{value:.4f}", f"{row} looks at {column}", f"has read {read}, predicts {row}"]
    expect(page.locator("#tip > *")).to_have_text(said)
    expect(page.locator("#map th.on")).to_have_text([column, row])


def test_another_sentence_is_chosen_and_an_open_explorer_follows_the_text(
    page: "Page", told: Any, address: str
) -> None:
    explored(page)
    page.locator("#sentence").select_option(index=1)
    np.testing.assert_allclose(shown(page), weights(told[1], "cross")[-1, 0], atol=0.00051)
    translated(page, "Merci.")
    (only,) = asked(address, "attention", q="Merci.")["parts"]
    expected = weights(only, "cross")[-1, 0]
    expect(page.locator("#map tbody tr")).to_have_count(len(expected))
    np.testing.assert_allclose(shown(page), expected, atol=0.00051)
    expect(page.locator("#sentence-label")).to_be_hidden()


def test_the_explorer_opens_at_the_sentence_of_the_chosen_word_and_follows_it(
    page: "Page", told: Any
) -> None:
    of_first = len(first_words(told[0]["target"]))
    page.locator(".word").nth(of_first).click()
    expect(page.locator("#options-list")).to_be_visible()
    explored(page)
    expect(page.locator("#sentence")).to_have_value("1")
    np.testing.assert_allclose(shown(page), weights(told[1], "cross")[-1, 0], atol=0.00051)
    page.locator(".word").first.click()
    expect(page.locator("#sentence")).to_have_value("0")


def test_colours_have_a_legend_and_stretch_to_the_strongest_weight(page: "Page", told: Any) -> None:
    explored(page)
    strongest, legend = weights(told[0], "cross")[-1, 0].max(), page.locator("#viewer .scale")
    expect(legend).to_have_text("weight 0  1")
    page.locator("#stretch").click()
    expect(legend).to_have_text(f"weight 0  {strongest:.4f}")
    expect(page.locator("#lines path").first).to_be_attached()


def test_a_table_that_is_cut_off_says_so_and_its_names_stay_in_sight(page: "Page", told: Any) -> None:
    explored(page)
    scrolled, hint = page.locator("#scrolled"), page.locator("#cut")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(hint).to_be_visible()
    scrolled.evaluate("box => box.scrollTo(1e6, 1e6)")
    row, column = page.locator("#map tbody th").first, page.locator("#map thead th").last
    box, row_name, column_name = (each.bounding_box() for each in (scrolled, row, column))
    assert box and row_name and column_name
    assert row_name["x"] == pytest.approx(box["x"], abs=2)
    assert column_name["y"] == pytest.approx(box["y"], abs=2)
    page.set_viewport_size({"width": 1280, "height": 900})
    translated(page, "Merci.")
    page.locator("#kind label").first.click()
    expect(hint).to_be_hidden()


def test_weights_are_asked_for_once_and_only_when_somebody_looks(page: "Page", address: str) -> None:
    weights_url = f"http://{address}/attention"
    looked, words = page.locator("#looked"), page.locator(".word")
    opened(page, address)
    translated(page, TEXT)
    assert requested(page).count(weights_url) == 0
    for number in range(2):
        words.nth(number).click()
        expect(looked).to_contain_text(f"{words.nth(number).inner_text()} looked at")
    explored(page)
    assert requested(page).count(weights_url) == 1


@pytest.mark.parametrize(
    ("pieces", "tokens", "words"),
    [
        (["▁two", "▁dog", "s", "▁.", "</s>"], ["␣two", "␣dog", "s", "␣.", "⟨end⟩"], ["two", "dogs", "."]),
        (["▁", "<0xC3>", "<0xA9>", "t", "é", "</s>"], ["␣", "é 1/2", "é 2/2", "t", "é", "⟨end⟩"], ["été"]),
        (["▁a", "▁", "<0x41>", "<0xE2>", "<0x82>"], ["␣a", "␣", "A", "byte E2", "byte 82"], ["a", "A�"]),
        (["<0xF0>", "<0x9F>", "<0x98>", "<0x80>"], [f"😀 {n}/4" for n in (1, 2, 3, 4)], ["😀"]),
        (["</s>"], ["⟨end⟩"], []),
    ],
)
def test_pieces_are_named_as_people_read_them(
    page: "Page", address: str, pieces: list[str], tokens: list[str], words: list[str]
) -> None:
    opened(page, address)
    found = page.evaluate(
        """pieces => import("/static/pieces.js").then(({readable, words}) =>
  [readable(pieces), words(pieces).map(word => word.text)])""",
        pieces,
    )
    assert found == [tokens, words]


def readable(pieces: list[str]) -> list[str]:
    """Of pieces without bytes."""
    assert not any(piece.startswith("<0x") for piece in pieces)
    return [{"</s>": "⟨end⟩"}.get(piece, piece.replace("▁", "␣")) for piece in pieces]
