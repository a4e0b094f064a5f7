"""The attention page in a real browser: it shows what the model gave, and asks nobody for anything."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from playwright.sync_api import expect

from keras_transformer import TranslationModel
from keras_transformer.viz.attention_page import attention_page
from keras_transformer.viz.heads import AttentionKind, Choice, Heads, heads_of
from keras_transformer.viz.pictures import WEIGHTS
from tests.support.browser import errors, requested

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

TEXT, TARGET = "Je suis étudiant.", "I am a student."
KINDS = ["input-input", "output-output", "input-output"]
HOSTILE = (
    """</script><script>document.title = 'mine'</script><img src=x onerror="alert(1)"> '" &lt;b&gt; <!--"""
)


@pytest.fixture(scope="module")
def heads(model: TranslationModel) -> Heads:
    return heads_of(model, TEXT, TARGET)


def opened(page: "Page", path: Path, heads: Heads, choice: Choice = Choice()) -> str:  # noqa: B008
    """Write the page and open it; -> its address."""
    path.write_text(attention_page(heads, choice), "utf-8")
    page.goto(path.as_uri())
    return path.as_uri()


@pytest.fixture
def url(page: "Page", tmp_path: Path, heads: Heads) -> str:
    return opened(page, tmp_path / "page.html", heads)


def weights_shown(page: "Page") -> np.ndarray:
    cells = "rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => Number(cell.innerText)))"
    return np.array(page.locator("#map tbody tr").evaluate_all(cells))


def expect_chosen(page: "Page", title: str) -> None:
    """Wait until this head is shown, and all that names it agrees."""
    expect(page.locator("#map-title")).to_have_text(title)
    kind, layer, head = (
        page.locator(f"#{name} input:checked + span").inner_text() for name in ("kind", "layer", "head")
    )
    assert re.fullmatch(f"{kind}, layer {layer} of \\d, head {head} of \\d", title)
    expect(page.locator("#overview button[aria-pressed=true]")).to_have_accessible_name(
        f"Layer {layer}, head {head}"
    )


def cell(page: "Page", row: int, column: int) -> "Locator":
    return page.locator("#map tbody tr").nth(row).locator("td").nth(column)


def test_every_head_is_one_click_away_and_shows_the_models_weights(
    page: "Page", url: str, heads: Heads
) -> None:
    for number, name in enumerate(KINDS):
        page.locator("#kind label").nth(number).click()
        kind = heads.kinds[name]
        expect(page.locator("#map thead th span")).to_have_text(list(kind.keys))
        expect(page.locator("#map tbody th")).to_have_text(list(kind.queries))
        for layer, head in np.ndindex(kind.layers, kind.heads):
            page.locator("#layer label").nth(layer).click()
            page.locator("#head label").nth(head).click()
            title = f"{kind.name}, layer {layer + 1} of {kind.layers}, head {head + 1} of {kind.heads}"
            expect_chosen(page, title)
            shown = weights_shown(page)
            np.testing.assert_allclose(shown, kind.weights[layer, head], atol=0.00051)
            np.testing.assert_allclose(shown.sum(1), 1, atol=0.0005 * len(kind.keys))
    assert requested(page) == [url]
    assert errors(page) == []


def test_pointing_at_a_cell_tells_its_weight_and_both_tokens(page: "Page", url: str, heads: Heads) -> None:
    kind, tip, shown = heads.kinds["input-output"], page.locator("#tip"), []
    weight, tokens, note = (tip.locator(f"> :nth-child({number})") for number in (1, 2, 3))
    for row, column in np.ndindex(2, len(kind.keys)):
        cell(page, row, column).hover()
        expect(tokens).to_have_text(f"{kind.queries[row]} looks at {kind.keys[column]}")
        expect(note).to_have_text(kind.notes[row])
        shown.append(float(weight.inner_text()))
    rows = np.reshape(shown, (2, -1))
    np.testing.assert_allclose(rows, kind.weights[-1, 0, :2], atol=0.00006)
    np.testing.assert_allclose(rows.sum(1), 1, atol=0.00005 * len(kind.keys))
    expect(page.locator("#map th.on")).to_have_text([kind.keys[-1], kind.queries[1]])
    page.keyboard.press("ArrowUp")  # another head, the same cell
    expect(tip).to_contain_text(f"{kind.weights[-2, 0, 1, -1]:.4f}")
    page.locator("h1").hover()
    expect(tip).to_be_hidden()
    assert requested(page) == [url]


def test_pointing_at_a_token_leaves_its_lines_alone(page: "Page", url: str, heads: Heads) -> None:
    kind = heads.kinds["input-output"]
    drawn = kind.weights[-1, 0] >= 0.01
    lines, names = page.locator("#lines path.on"), page.locator("#map th.on")
    expect(page.locator("#lines path")).to_have_count(int(drawn.sum()))
    page.locator("#queries li").nth(1).hover()
    expect(lines).to_have_count(int(drawn[1].sum()))
    expect(names).to_have_text([kind.queries[1]])
    page.locator("#keys li").nth(2).hover()
    expect(lines).to_have_count(int(drawn[:, 2].sum()))
    expect(names).to_have_text([kind.keys[2]])
    page.locator("h1").hover()
    expect(lines).to_have_count(0)


def test_lines_lead_from_the_token_that_looks_to_the_one_it_looks_at(
    page: "Page", url: str, heads: Heads
) -> None:
    weights = heads.kinds["input-output"].weights[-1, 0]
    row, column = map(int, np.unravel_index(weights.argmax(), weights.shape))
    path = page.locator("#lines g").nth(row).locator(f"path[data-column='{column}']")
    ends = path.evaluate(
        """path => [0, path.getTotalLength()]
  .map(length => lines.getBoundingClientRect().top + path.getPointAtLength(length).y)"""
    )
    tokens = (page.locator("#queries li").nth(row), page.locator("#keys li").nth(column))
    boxes = [token.bounding_box() for token in tokens]
    assert ends == pytest.approx([box["y"] + box["height"] / 2 for box in boxes if box], abs=1)


def test_from_above_each_head_is_seen_in_small_and_chosen_by_a_click(
    page: "Page", url: str, heads: Heads
) -> None:
    kind = heads.kinds["input-output"]
    drawn = page.locator("#overview canvas").evaluate_all(
        """canvases => canvases.map(canvas =>
  [...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data])"""
    )
    pixels = np.reshape(drawn, (*kind.weights.shape, 4))
    np.testing.assert_allclose(pixels, WEIGHTS(kind.weights, bytes=True), atol=2)
    page.locator("#overview button").nth(3).click()
    expect_chosen(page, "Input–Output, layer 2 of 3, head 2 of 2")
    np.testing.assert_allclose(weights_shown(page), kind.weights[1, 1], atol=0.00051)


def test_arrows_and_numbers_choose(page: "Page", url: str) -> None:
    expect_chosen(page, "Input–Output, layer 3 of 3, head 1 of 2")
    for key, shown in (
        ("ArrowRight", "Input–Output, layer 3 of 3, head 2 of 2"),
        ("ArrowUp", "Input–Output, layer 2 of 3, head 2 of 2"),
        ("ArrowRight", "Input–Output, layer 2 of 3, head 1 of 2"),
        ("ArrowLeft", "Input–Output, layer 2 of 3, head 2 of 2"),
        ("ArrowDown", "Input–Output, layer 3 of 3, head 2 of 2"),
        ("2", "Output–Output, layer 3 of 3, head 2 of 2"),
        ("1", "Input–Input, layer 2 of 2, head 2 of 2"),  # which has two layers only
        ("ArrowDown", "Input–Input, layer 1 of 2, head 2 of 2"),
        ("3", "Input–Output, layer 1 of 3, head 2 of 2"),
    ):
        page.keyboard.press(key)
        expect_chosen(page, shown)


def test_all_can_be_reached_and_used_by_keys_alone(page: "Page", url: str, heads: Heads) -> None:
    kind, focused, tip = heads.kinds["input-input"], page.locator(":focus"), page.locator("#tip")

    def press(*keys: str) -> None:
        for key in keys:
            page.keyboard.press(key)

    press("Tab", "ArrowLeft")  # of the kinds
    expect_chosen(page, "Output–Output, layer 3 of 3, head 1 of 2")
    press("ArrowLeft", "Tab", "ArrowLeft")  # of the layers
    expect_chosen(page, "Input–Input, layer 1 of 2, head 1 of 2")
    press("Tab", "Tab")  # past the heads
    expect(focused).to_have_accessible_name("Layer 1, head 1")
    press("ArrowDown")
    expect(focused).to_have_accessible_name("Layer 2, head 1")
    press("Tab", "Space")
    expect(page.locator("#stretch")).to_be_checked()
    press("Tab", "ArrowRight", "ArrowDown")
    expect_chosen(page, "Input–Input, layer 2 of 2, head 1 of 2")  # the arrows are the map's now
    weight = f"{kind.weights[1, 0, 1, 1]:.4f}"
    expect(tip.locator("> :visible")).to_have_text([weight, f"{kind.queries[1]} looks at {kind.keys[1]}"])
    expect(focused).to_have_attribute("aria-describedby", "tip")
    press("End", "ArrowRight")  # there is no more
    expect(tip).to_contain_text(f"{kind.queries[1]} looks at {kind.keys[-1]}")
    press("Home")
    expect(tip).to_contain_text(f"{kind.queries[1]} looks at {kind.keys[0]}")
    press("Escape")
    expect(tip).to_be_hidden()
    press("Tab", "Shift+Tab")
    expect(tip).to_contain_text(f"{kind.queries[1]} looks at {kind.keys[0]}")  # where it was left
    assert errors(page) == []


def test_the_colours_are_the_weights_or_stretched_to_the_strongest(
    page: "Page", url: str, heads: Heads
) -> None:
    weights = heads.kinds["input-output"].weights[-1, 0]
    row, column = map(int, np.unravel_index(weights.argmax(), weights.shape))
    assert weights.max() < 0.99
    strongest = cell(page, row, column)
    expect(strongest).not_to_have_css("background-color", "rgb(1, 42, 85)")
    page.locator("#stretch").click()
    expect(strongest).to_have_css("background-color", "rgb(1, 42, 85)")
    expect(page.locator(".legend")).to_contain_text(f"{weights.max():.4f}")
    np.testing.assert_allclose(weights_shown(page), weights, atol=0.00051)  # the numbers are what they were


def test_numbers_can_be_read_and_colours_follow_the_theme(page: "Page", url: str) -> None:
    contrasts = """cells => cells.map(cell => {
  const {color, backgroundColor} = getComputedStyle(cell);
  const [one, other] = [color, backgroundColor].map(text => {
    const [red, green, blue] = text.match(/\\d+/g).map(part => part / 255)
      .map(part => part > 0.04045 ? ((part + 0.055) / 1.055) ** 2.4 : part / 12.92);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
  });
  return Math.max(one, other) / Math.min(one, other);
})"""
    cells = page.locator("#map tbody td")
    light = cells.first.evaluate("cell => getComputedStyle(cell).backgroundColor")
    assert min(cells.evaluate_all(contrasts)) >= 4.5
    page.emulate_media(color_scheme="dark")
    expect(cells.first).not_to_have_css("background-color", light)
    assert min(cells.evaluate_all(contrasts)) >= 4.5


def test_whatever_the_text_says_is_shown_and_not_obeyed(
    page: "Page", tmp_path: Path, model: TranslationModel
) -> None:
    heads = heads_of(model, HOSTILE[:20], HOSTILE)
    heads = Heads(HOSTILE, HOSTILE, heads.kinds, (HOSTILE,))
    url = opened(page, tmp_path / "page.html", heads)
    expect(page.locator("dd")).to_have_text([HOSTILE, HOSTILE])
    expect(page.locator("header .note")).to_have_text(HOSTILE)
    tokens = "".join(page.locator("#map tbody th").all_inner_texts())
    assert tokens.replace("␣", " ").strip().startswith("</script><script>doc")
    expect(page).to_have_title("What the heads look at")
    assert requested(page) == [url]
    assert errors(page) == []


def test_any_token_is_shown_as_it_is(page: "Page", tmp_path: Path) -> None:
    tokens = ("</script>", "<!--<script>", "\"'", "&amp;", "a\u2028b", "שלום", "\x1b[31m", "\ud83d", "😀 1/4")
    size = len(tokens)
    kind = AttentionKind(
        "Input–Input", np.full((1, 1, size, size), 1 / size, "float32"), tokens, tokens, tokens
    )
    opened(page, tmp_path / "page.html", Heads("a\x00b", "", {"input-input": kind}), Choice("input-input"))
    signs = [*tokens[:6], "␛[31m", "\ufffd", tokens[8]]
    assert page.locator("#queries li").all_text_contents() == signs
    assert page.locator("#map thead th span").all_text_contents() == signs
    expect(page.locator("dd").first).to_have_text("a␀b")
    assert errors(page) == []


def test_a_long_text_scrolls_inside_its_map(page: "Page", tmp_path: Path) -> None:
    tokens = tuple(f"token {number}" for number in range(150))
    weights = np.random.default_rng(0).dirichlet(np.full(150, 0.1), (2, 2, 150)).astype("float32")
    kind = AttentionKind("Input–Input", weights, tokens, tokens, ("",) * 150)
    opened(page, tmp_path / "page.html", Heads("t", "t", {"input-input": kind}), Choice("input-input", 2, 1))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    scrolled = page.locator("#scrolled")
    assert scrolled.evaluate(
        "box => box.scrollWidth > box.clientWidth && box.scrollHeight > box.clientHeight"
    )
    cell(page, 140, 3).hover()
    requested(page)  # the scrolling has been told
    told = [f"{weights[1, 0, 140, 3]:.4f}", "token 140 looks at token 3"]
    expect(page.locator("#tip > :visible")).to_have_text(told)
    expect(page.locator("#stretch")).to_be_checked()
    head, box = page.locator("#map thead th").first.bounding_box(), scrolled.bounding_box()
    assert head and box and head["y"] == pytest.approx(box["y"], abs=2)  # still in sight
    assert errors(page) == []


@pytest.mark.parametrize(("width", "height"), [(360, 740), (1280, 800), (2200, 1200)])
def test_nothing_is_wider_than_the_window(page: "Page", url: str, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_opens_where_it_was_asked_to(page: "Page", tmp_path: Path, heads: Heads) -> None:
    opened(page, tmp_path / "page.html", heads, Choice("output-output", 2, 2))
    expect_chosen(page, "Output–Output, layer 2 of 3, head 2 of 2")
    opened(page, tmp_path / "page.html", heads, Choice(head=2))
    expect_chosen(page, "Input–Output, layer 3 of 3, head 2 of 2")


def test_a_place_that_is_not_there_is_refused(heads: Heads) -> None:
    with pytest.raises(ValueError, match="Input–Input has the layers 1 to 2; got layer 3"):
        attention_page(heads, Choice("input-input", layer=3))


def test_the_page_is_alone_and_the_same_every_time(heads: Heads) -> None:
    page = attention_page(heads, Choice())
    assert page == attention_page(heads, Choice())
    assert "://" not in page.replace("http://www.w3.org/2000/svg", "")  # a name that is never fetched
    assert "default-src 'none'" in page
    assert "sum to 1" in page
