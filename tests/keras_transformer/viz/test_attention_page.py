"""The attention page in a real browser: it shows what the model gave, and asks nobody for anything."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from keras_transformer import TranslationModel
from keras_transformer.viz.attention_page import attention_page
from keras_transformer.viz.heads import AttentionKind, Choice, Heads, heads_of
from keras_transformer.viz.pictures import WEIGHTS

if TYPE_CHECKING:
    from tests.browser import Page

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
    page.open(path.as_uri())
    return path.as_uri()


@pytest.fixture
def url(page: "Page", tmp_path: Path, heads: Heads) -> str:
    return opened(page, tmp_path / "page.html", heads)


def weights_shown(page: "Page") -> np.ndarray:
    rows = page.run("[...document.querySelectorAll('#map tbody tr')].map(row => row.innerText.split('\\t'))")
    return np.array([[float(cell) for cell in row[1:]] for row in rows])


def chosen(page: "Page") -> str:
    """What is shown, if all that says it agrees."""
    title = page.text("#map-title")
    kind, layer, head = (page.text(f"#{name} input:checked + span") for name in ("kind", "layer", "head"))
    assert re.fullmatch(f"{kind}, layer {layer} of \\d, head {head} of \\d", title)
    overview = page.run("document.querySelector('#overview button[aria-pressed=true]').ariaLabel")
    assert overview == f"Layer {layer}, head {head}"
    assert page.run("document.querySelectorAll('#overview button[aria-pressed=true]').length") == 1
    return title


def cell(row: int, column: int) -> str:
    return f"#map tbody tr:nth-child({row + 1}) td:nth-of-type({column + 1})"


def test_every_head_is_one_click_away_and_shows_the_models_weights(
    page: "Page", url: str, heads: Heads
) -> None:
    for number, name in enumerate(KINDS, start=1):
        page.click(f"#kind label:nth-of-type({number})")
        kind = heads.kinds[name]
        assert page.texts("#map thead th") == list(kind.keys)
        assert page.texts("#map tbody th") == list(kind.queries)
        for layer, head in np.ndindex(kind.layers, kind.heads):
            page.click(f"#layer label:nth-of-type({layer + 1})")
            page.click(f"#head label:nth-of-type({head + 1})")
            title = f"{kind.name}, layer {layer + 1} of {kind.layers}, head {head + 1} of {kind.heads}"
            assert chosen(page) == title
            shown = weights_shown(page)
            np.testing.assert_allclose(shown, kind.weights[layer, head], atol=0.00051)
            np.testing.assert_allclose(shown.sum(1), 1, atol=0.0005 * len(kind.keys))
    page.settle()
    assert page.requests == [url]
    assert page.errors == []


def test_pointing_at_a_cell_tells_its_weight_and_both_tokens(page: "Page", url: str, heads: Heads) -> None:
    kind, shown = heads.kinds["input-output"], []
    for row, column in np.ndindex(2, len(kind.keys)):
        page.hover(cell(row, column))
        weight, tokens, note = page.text("#tip").split("\n")
        assert tokens == f"{kind.queries[row]} looks at {kind.keys[column]}"
        assert note == kind.notes[row]
        shown.append(float(weight))
    rows = np.reshape(shown, (2, -1))
    np.testing.assert_allclose(rows, kind.weights[-1, 0, :2], atol=0.00006)
    np.testing.assert_allclose(rows.sum(1), 1, atol=0.00005 * len(kind.keys))
    assert page.texts("#map th.on") == [kind.keys[-1], kind.queries[1]]
    page.press("ArrowUp")  # another head, the same cell
    assert page.text("#tip").startswith(f"{kind.weights[-2, 0, 1, -1]:.4f}\n")
    page.hover("h1")
    assert page.run("tip.hidden")
    page.settle()
    assert page.requests == [url]


def test_pointing_at_a_token_leaves_its_lines_alone(page: "Page", url: str, heads: Heads) -> None:
    weights = heads.kinds["input-output"].weights[-1, 0]
    lines = "document.querySelectorAll('#lines path').length"
    assert page.run(lines) == np.count_nonzero(weights >= 0.01)
    page.hover("#queries li:nth-child(2)")
    assert page.run("document.querySelectorAll('#lines path.on').length") == np.count_nonzero(
        weights[1] >= 0.01
    )
    assert page.texts("#map th.on") == [heads.kinds["input-output"].queries[1]]
    page.hover("#keys li:nth-child(3)")
    assert page.run("document.querySelectorAll('#lines path.on').length") == np.count_nonzero(
        weights[:, 2] >= 0.01
    )
    assert page.texts("#map th.on") == [heads.kinds["input-output"].keys[2]]
    page.hover("h1")
    assert page.run("document.querySelectorAll('#lines path.on').length") == 0


def test_lines_lead_from_the_token_that_looks_to_the_one_it_looks_at(
    page: "Page", url: str, heads: Heads
) -> None:
    weights = heads.kinds["input-output"].weights[-1, 0]
    row, column = np.unravel_index(weights.argmax(), weights.shape)
    path = f"#lines g:nth-child({row + 1}) path[data-column='{column}']"
    ends = page.run(
        f"""(() => {{
  const path = document.querySelector("{path}"), box = lines.getBoundingClientRect(), places = [];
  for (const at of [0, path.getTotalLength()]) places.push(box.top + path.getPointAtLength(at).y);
  for (const [list, index] of [[queries, {row}], [keys, {column}]]) {{
    const token = list.children[index].getBoundingClientRect();
    places.push((token.top + token.bottom) / 2);
  }}
  return places;
}})()"""
    )
    assert ends[:2] == pytest.approx(ends[2:], abs=1)


def test_from_above_each_head_is_seen_in_small_and_chosen_by_a_click(
    page: "Page", url: str, heads: Heads
) -> None:
    kind = heads.kinds["input-output"]
    drawn = page.run(
        """[...document.querySelectorAll("#overview canvas")].map(canvas =>
  [...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data])"""
    )
    pixels = np.reshape(drawn, (*kind.weights.shape, 4))
    np.testing.assert_allclose(pixels, WEIGHTS(kind.weights, bytes=True), atol=2)
    page.click("#overview button:nth-of-type(4)")
    assert chosen(page) == "Input–Output, layer 2 of 3, head 2 of 2"
    np.testing.assert_allclose(weights_shown(page), kind.weights[1, 1], atol=0.00051)


def test_arrows_and_numbers_choose(page: "Page", url: str) -> None:
    assert chosen(page) == "Input–Output, layer 3 of 3, head 1 of 2"
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
        page.press(key)
        assert chosen(page) == shown


def test_all_can_be_reached_and_used_by_keys_alone(page: "Page", url: str, heads: Heads) -> None:
    kind, focused = heads.kinds["input-input"], "document.activeElement"
    page.press("Tab")
    page.press("ArrowLeft")  # of the kinds
    assert chosen(page) == "Output–Output, layer 3 of 3, head 1 of 2"
    page.press("ArrowLeft")
    page.press("Tab")
    page.press("ArrowLeft")  # of the layers
    assert chosen(page) == "Input–Input, layer 1 of 2, head 1 of 2"
    page.press("Tab")
    page.press("Tab")  # past the heads
    assert page.run(f"{focused}.ariaLabel") == "Layer 1, head 1"
    page.press("ArrowDown")
    assert page.run(f"{focused}.ariaLabel") == "Layer 2, head 1"
    page.press("Tab")
    page.press(" ")
    assert page.run("stretch.checked")
    page.press("Tab")
    page.press("ArrowRight")
    page.press("ArrowDown")
    assert chosen(page) == "Input–Input, layer 2 of 2, head 1 of 2"  # the arrows are the map's now
    assert page.text("#tip") == (f"{kind.weights[1, 0, 1, 1]:.4f}\n{kind.queries[1]} looks at {kind.keys[1]}")
    assert page.run(f"{focused}.getAttribute('aria-describedby')") == "tip"
    page.press("End")
    assert page.text("#tip").endswith(f"{kind.queries[1]} looks at {kind.keys[-1]}")
    page.press("ArrowRight")  # there is no more
    page.press("Home")
    assert page.text("#tip").endswith(f"{kind.queries[1]} looks at {kind.keys[0]}")
    page.press("Escape")
    assert page.run("tip.hidden")
    page.press("Tab")
    page.press("Tab", shift=True)
    assert page.text("#tip").endswith(f"{kind.queries[1]} looks at {kind.keys[0]}")  # where it was left
    assert page.errors == []


def test_the_colours_are_the_weights_or_stretched_to_the_strongest(
    page: "Page", url: str, heads: Heads
) -> None:
    weights = heads.kinds["input-output"].weights[-1, 0]
    row, column = np.unravel_index(weights.argmax(), weights.shape)
    assert weights.max() < 0.99
    colour = f"getComputedStyle(document.querySelector('{cell(row, column)}')).backgroundColor"
    assert page.run(colour) != "rgb(1, 42, 85)"
    page.click("#stretch")
    assert page.run(colour) == "rgb(1, 42, 85)"
    assert page.text(".scale") == f"weight 0  {weights.max():.4f}"
    np.testing.assert_allclose(weights_shown(page), weights, atol=0.00051)  # the numbers are what they were


def test_numbers_can_be_read_and_colours_follow_the_theme(page: "Page", url: str) -> None:
    contrasts = """[...document.querySelectorAll("#map tbody td")].map(cell => {
  const {color, backgroundColor} = getComputedStyle(cell);
  const [one, other] = [color, backgroundColor].map(text => {
    const [red, green, blue] = text.match(/\\d+/g).map(part => part / 255)
      .map(part => part > 0.04045 ? ((part + 0.055) / 1.055) ** 2.4 : part / 12.92);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
  });
  return Math.max(one, other) / Math.min(one, other);
})"""
    colour = f"getComputedStyle(document.querySelector('{cell(0, 0)}')).backgroundColor"
    light = page.run(colour)
    assert min(page.run(contrasts)) >= 4.5
    page.prefer(dark=True)
    page.until(f"{colour} != '{light}'")
    assert min(page.run(contrasts)) >= 4.5


def test_whatever_the_text_says_is_shown_and_not_obeyed(
    page: "Page", tmp_path: Path, model: TranslationModel
) -> None:
    heads = heads_of(model, HOSTILE[:20], HOSTILE)
    heads = Heads(HOSTILE, HOSTILE, heads.kinds, (HOSTILE,))
    url = opened(page, tmp_path / "page.html", heads)
    assert page.texts("dd") == [HOSTILE, HOSTILE]
    assert page.text(".note") == HOSTILE
    assert "".join(page.texts("#map tbody th")).replace("␣", " ").strip().startswith("</script><script>doc")
    assert page.run("document.title") == "What the heads look at"
    assert page.requests == [url]
    assert page.errors == []


def test_any_token_is_shown_as_it_is(page: "Page", tmp_path: Path) -> None:
    tokens = ("</script>", "<!--<script>", "\"'", "&amp;", "a\u2028b", "שלום", "\x1b[31m", "\ud83d", "😀 1/4")
    size = len(tokens)
    kind = AttentionKind(
        "Input–Input", np.full((1, 1, size, size), 1 / size, "float32"), tokens, tokens, tokens
    )
    opened(page, tmp_path / "page.html", Heads("a\x00b", "", {"input-input": kind}), Choice("input-input"))
    signs = [*tokens[:6], "␛[31m", "\ufffd", tokens[8]]
    assert page.run("[...queries.children].map(each => each.textContent)") == signs
    assert page.run("[...document.querySelectorAll('#map thead th')].map(each => each.textContent)") == signs
    assert page.text("dd") == "a␀b"
    assert page.errors == []


def test_a_long_text_scrolls_inside_its_map(page: "Page", tmp_path: Path) -> None:
    tokens = tuple(f"token {number}" for number in range(150))
    weights = np.random.default_rng(0).dirichlet(np.full(150, 0.1), (2, 2, 150)).astype("float32")
    kind = AttentionKind("Input–Input", weights, tokens, tokens, ("",) * 150)
    opened(page, tmp_path / "page.html", Heads("t", "t", {"input-input": kind}), Choice("input-input", 2, 1))
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    assert page.run(
        "scrolled.scrollWidth > scrolled.clientWidth && scrolled.scrollHeight > scrolled.clientHeight"
    )
    page.hover(cell(140, 3))
    assert page.text("#tip") == f"{weights[1, 0, 140, 3]:.4f}\ntoken 140 looks at token 3"
    page.settle()  # the scrolling has been told
    assert page.text("#tip") == f"{weights[1, 0, 140, 3]:.4f}\ntoken 140 looks at token 3"
    assert page.run("stretch.checked")
    head = page.run("document.querySelector('#map thead th').getBoundingClientRect().top")
    assert head == pytest.approx(page.run("scrolled.getBoundingClientRect().top"), abs=2)  # still in sight
    assert page.errors == []


@pytest.mark.parametrize(("width", "height"), [(360, 740), (1280, 800), (2200, 1200)])
def test_nothing_is_wider_than_the_window(page: "Page", url: str, width: int, height: int) -> None:
    page.resize(width, height)
    assert page.run("document.documentElement.scrollWidth") <= width


def test_it_opens_where_it_was_asked_to(page: "Page", tmp_path: Path, heads: Heads) -> None:
    opened(page, tmp_path / "page.html", heads, Choice("output-output", 2, 2))
    assert chosen(page) == "Output–Output, layer 2 of 3, head 2 of 2"
    opened(page, tmp_path / "page.html", heads, Choice(head=2))
    assert chosen(page) == "Input–Output, layer 3 of 3, head 2 of 2"


def test_a_place_that_is_not_there_is_refused(heads: Heads) -> None:
    with pytest.raises(ValueError, match="Input–Input has the layers 1 to 2; got layer 3"):
        attention_page(heads, Choice("input-input", layer=3))


def test_the_page_is_alone_and_the_same_every_time(heads: Heads) -> None:
    page = attention_page(heads, Choice())
    assert page == attention_page(heads, Choice())
    assert "://" not in page.replace("http://www.w3.org/2000/svg", "")  # a name that is never fetched
    assert "default-src 'none'" in page
    assert "sum to 1" in page
