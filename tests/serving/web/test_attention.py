"""A word of the translation shows what it looked at, and the explorer every weight that the server tells."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.support.serving.web_page import asked, opened, translated, until_told

if TYPE_CHECKING:
    from tests.browser import Page

FIRST = "Les enfants aiment le riz."  # of which this model says many words
TEXT = f"{FIRST}\nJe suis étudiant."
NAMES = {"encoder": "Input–Input", "decoder": "Output–Output", "cross": "Input–Output"}
EXPLORED = "document.querySelectorAll('#map tbody td').length"


@pytest.fixture
def told(page: "Page", address: str) -> Any:
    """What the server tells of a text that stands on the page, with its translation."""
    opened(page, address)
    translated(page, TEXT)
    return asked(address, "attention", q=TEXT)["parts"]


def weights(part: Any, kind: str) -> np.ndarray:
    return np.reshape(part[kind]["values"], part[kind]["shape"])


def explored(page: "Page") -> None:
    page.click("#heads summary")
    page.until(EXPLORED)


def shown(page: "Page") -> np.ndarray:
    rows = page.run(
        """[...document.querySelectorAll('#map tbody tr')].map(row =>
  [...row.querySelectorAll('td')].map(cell => Number(cell.style.getPropertyValue('--weight'))))"""
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
    assert page.text("#looked").startswith("Choose a word")
    page.click(".word:nth-of-type(2)")
    word = page.text(".word:nth-of-type(2)")
    said = until_told(page, f"{word} looked at", "#looked")
    shares = page.run(
        "[...document.querySelectorAll('#mirror span')].map(each => each.style.getPropertyValue('--share'))"
    )
    shares = np.array([float(share or 0) for share in shares])
    np.testing.assert_allclose(
        shares[: len(source)], np.where(np.array(expected) < 0.01, 0, expected), atol=1e-4
    )
    assert not shares[len(source) :].any()  # another sentence
    most = int(np.argmax(expected))
    assert f"{TEXT.split()[most]} {expected[most] * 100:.0f} %" in said
    assert page.run("mirror.textContent") == TEXT + "\u200b"
    page.click(".word:nth-of-type(2)")
    assert page.text("#looked").startswith("Choose a word")
    assert page.run("document.querySelectorAll('#mirror .seen').length") == 0
    assert page.errors == []


def test_the_text_and_what_is_shaded_behind_it_lie_exactly_on_each_other(page: "Page", told: Any) -> None:
    box = "(({left, top, width, height}) => [left, top, width, height])(%s.getBoundingClientRect())"
    for width in (1280, 360):
        page.resize(width, 900)
        page.settle()
        assert page.run(box % "text") == page.run(box % "mirror")
        for style in ("font", "lineHeight", "letterSpacing", "padding", "whiteSpace", "overflowWrap"):
            assert page.run(f"getComputedStyle(text).{style} === getComputedStyle(mirror).{style}")
        assert page.run("text.scrollHeight <= text.clientHeight")


def test_every_head_of_every_kind_is_one_click_away(page: "Page", told: Any) -> None:
    explored(page)
    part = told[0]
    for number, (kind, name) in enumerate(NAMES.items(), start=1):
        page.click(f"#kind label:nth-of-type({number})")
        values = weights(part, kind)
        layers, heads = values.shape[:2]
        for layer, head in np.ndindex(layers, heads):
            page.click(f"#layer label:nth-of-type({layer + 1})")
            page.click(f"#head label:nth-of-type({head + 1})")
            title = f"{name}, layer {layer + 1} of {layers}, head {head + 1} of {heads}"
            assert page.text("#map-title") == title
            np.testing.assert_allclose(shown(page), values[layer, head], atol=0.00006)
            pressed = page.run("document.querySelector('#birds [aria-pressed=true]').ariaLabel")
            assert pressed == f"Layer {layer + 1}, head {head + 1}"
    assert page.errors == []


def test_rows_are_what_looks_and_columns_what_is_looked_at(page: "Page", told: Any) -> None:
    explored(page)
    said, read = readable(told[0]["target"]), ["⟨start⟩", *readable(told[0]["target"][:-1])]
    source = readable(told[0]["source"])
    sides = {1: (source, source), 2: (read, read), 3: (said, source)}
    for number, (rows, columns) in sides.items():
        page.click(f"#kind label:nth-of-type({number})")
        assert page.texts("#map tbody th") == rows
        assert page.texts("#map thead th") == columns


def test_pointing_at_a_cell_tells_its_weight(page: "Page", told: Any) -> None:
    explored(page)
    value = weights(told[0], "cross")[-1, 0, 1, 2]
    page.hover("#map tbody tr:nth-child(2) td:nth-of-type(3)")
    row, column = readable(told[0]["target"])[1], readable(told[0]["source"])[2]
    assert page.text("#weight") == f"{row} looks at {column}: {value:.4f}"
    assert page.texts("#map th.on") == [column, row]


def test_another_sentence_is_chosen_and_an_open_explorer_follows_the_text(
    page: "Page", told: Any, address: str
) -> None:
    explored(page)
    page.run("part.value = 1, part.dispatchEvent(new Event('change'))")
    np.testing.assert_allclose(shown(page), weights(told[1], "cross")[-1, 0], atol=0.00006)
    translated(page, "Merci.")
    (only,) = asked(address, "attention", q="Merci.")["parts"]
    expected = weights(only, "cross")[-1, 0]
    page.until(f"document.querySelectorAll('#map tbody tr').length === {len(expected)}")
    np.testing.assert_allclose(shown(page), expected, atol=0.00006)
    assert page.run("document.querySelector('#part-label').hidden")


def test_weights_are_asked_for_once_and_only_when_somebody_looks(page: "Page", address: str) -> None:
    place = f"http://{address}/attention"
    opened(page, address)
    translated(page, TEXT)
    page.settle()
    assert page.requests.count(place) == 0
    page.click(".word")
    until_told(page, "looked at", "#looked")
    page.click(".word:nth-of-type(2)")
    until_told(page, "looked at", "#looked")
    explored(page)
    assert page.requests.count(place) == 1


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
    page.open(f"http://{address}/")
    found = page.run(
        f"""import("/static/pieces.js").then(({{readable, words}}) =>
  [readable({pieces}), words({pieces}).map(each => each.text)])"""
    )
    assert found == [tokens, words]


def readable(pieces: list[str]) -> list[str]:
    """Of pieces without bytes."""
    assert not any(piece.startswith("<0x") for piece in pieces)
    return [{"</s>": "⟨end⟩"}.get(piece, piece.replace("▁", "␣")) for piece in pieces]
