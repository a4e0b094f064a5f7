"""The page in a real browser says what onnxruntime says in Python, and asks nobody but its static server."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.support.browser import errors, requested
from tests.support.examples import EXAMPLES, LINES, expected

if TYPE_CHECKING:
    from playwright.sync_api import Page

PLACE = "examples/browser/"

pytestmark = pytest.mark.usefixtures("packages")


def served(site: tuple[str, Path], version: Path) -> str:
    """The address of the page with a model, served from a folder that has both."""
    url, folder = site
    (folder / "examples").symlink_to(EXAMPLES)
    (folder / "models").symlink_to(version.parents[1])
    return f"{url}{PLACE}?model=/models/fr-en/1"


@pytest.fixture
def address(site: tuple[str, Path], version: Path) -> str:
    return served(site, version)


def opened(page: "Page", address: str) -> None:
    """Open the page and wait until its model is loaded."""
    page.goto(address)
    expect(page.get_by_role("button", name="Translate")).to_be_enabled()


def test_what_is_typed_is_translated_and_nobody_else_is_asked(
    page: "Page", address: str, site: tuple[str, Path], version: Path
) -> None:
    opened(page, address)
    lines = [LINES[0], "", LINES[1]]
    page.get_by_label("French").fill("\n".join(lines))
    page.get_by_role("button", name="Translate").click()
    answers = expected(version, lines)
    text = "\n".join(answer["text"] for answer in answers)
    expect(page.get_by_label("English")).to_have_js_property("value", text)
    tokens = sum(len(answer["ids"]) for answer in answers)
    expect(page.locator("#status")).to_have_text(re.compile(rf"^{tokens} tokens in \d+ ms$"))
    requests = requested(page)
    assert [url for url in requests if not url.startswith(site[0])] == []
    assert any(url.endswith(".wasm") for url in requests)
    assert errors(page) == []


def test_each_line_has_the_tokens_and_the_text_of_onnxruntime(
    page: "Page", site: tuple[str, Path], either: Path
) -> None:
    page.goto(served(site, either))
    said = page.evaluate(
        """lines => import("./translate.mjs")
  .then(({ open }) => open(new URL("/models/fr-en/1/", location)))
  .then((translator) => translator.translate(lines))""",
        LINES,
    )
    assert said == expected(either, LINES)
    assert errors(page) == []


def test_control_and_enter_translate_too_and_a_second_text_takes_the_place_of_the_first(
    page: "Page", address: str, version: Path
) -> None:
    opened(page, address)
    for line in LINES[:2]:
        page.get_by_label("French").fill(line)
        page.keyboard.press("Control+Enter")
        (answer,) = expected(version, [line])
        expect(page.get_by_label("English")).to_have_js_property("value", answer["text"])


def test_its_policy_lets_it_ask_nobody_else(page: "Page", address: str) -> None:
    page.goto(address)
    asked = """new Promise((done) => {
  addEventListener("securitypolicyviolation", (event) => done(event.effectiveDirective));
  fetch("http://127.0.0.1:1/").catch(() => setTimeout(done, 0, "nothing"));
})"""
    assert page.evaluate(asked) == "connect-src"


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_window(page: "Page", address: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    opened(page, address)
    page.evaluate("text => { source.value = target.textContent = text; }", "x" * 500)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("target.scrollWidth <= target.clientWidth")  # all of it can be read


def test_a_model_that_is_not_there_is_told(page: "Page", address: str) -> None:
    page.goto(address.replace("fr-en/1", "fr-en/7"))
    expect(page.locator("#status.wrong")).to_have_text(
        "/models/fr-en/7/manifest.json is not there (status 404): "
        "name the directory of an exported version, as in ?model=/models/fr-en/1/"
    )
    expect(page.get_by_role("button", name="Translate")).to_be_disabled()


def test_packages_that_are_not_there_are_told(page: "Page", site: tuple[str, Path]) -> None:
    url, folder = site
    (folder / "examples").mkdir()
    for name in ("browser", "javascript"):
        (folder / "examples" / name).symlink_to(EXAMPLES / name)
    page.goto(url + PLACE)
    expect(page.locator("#status.wrong")).to_have_text(
        "onnxruntime-web is not there: run npm ci --ignore-scripts in the folder examples"
    )


def test_axe_finds_nothing_wrong_in_any_state_of_the_page(
    page: "Page", address: str, violations_in: Callable[[str], list[str]]
) -> None:
    opened(page, address)
    page.get_by_label("French").fill(LINES[0])
    page.get_by_role("button", name="Translate").click()
    expect(page.locator("#status")).to_contain_text("tokens in")
    assert violations_in("example") == []
    page.goto(address.replace("fr-en/1", "fr-en/7"))
    expect(page.locator("#status.wrong")).to_be_visible()
    assert violations_in("example-failed") == []
