"""The page in a real browser says what onnxruntime says in Python, and asks nobody but its static server."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.examples import EXAMPLES, LINES, expected

if TYPE_CHECKING:
    from tests.browser import Page

PLACE = "examples/browser/"
READY = "!document.querySelector('button').disabled"
FAILED = "document.querySelector('.wrong')"

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


def test_what_is_typed_is_translated_and_nobody_else_is_asked(
    page: "Page", address: str, site: tuple[str, Path], version: Path
) -> None:
    page.open(address)
    page.until(READY)
    assert page.texts("label") == ["French", "English"]
    page.click("#source")
    lines = [LINES[0], "", LINES[1]]
    page.type("\n".join(lines))
    page.click("button")
    page.until("target.value")
    answers = expected(version, lines)
    assert page.run("target.value") == "\n".join(answer["text"] for answer in answers)
    tokens = sum(len(answer["ids"]) for answer in answers)
    assert page.text("#status").startswith(f"{tokens} tokens in ") and page.text("#status").endswith(" ms")
    page.settle()
    assert [request for request in page.requests if not request.startswith(site[0])] == []
    assert any(request.endswith(".wasm") for request in page.requests)
    assert page.errors == []


def test_each_line_has_the_tokens_and_the_text_of_onnxruntime(
    page: "Page", site: tuple[str, Path], either: Path
) -> None:
    page.open(served(site, either))
    said = page.run(
        f"""import("./translate.mjs")
  .then(({{ open }}) => open(new URL("/models/fr-en/1/", location)))
  .then((translator) => translator.translate({json.dumps(LINES)}))"""
    )
    assert said == expected(either, LINES)
    assert page.errors == []


def test_control_and_enter_translate_too_and_a_second_text_takes_the_place_of_the_first(
    page: "Page", address: str, version: Path
) -> None:
    page.open(address)
    page.until(READY)
    for line in LINES[:2]:
        page.run("source.focus(), source.select()")
        page.type(line)
        for kind in ("keyDown", "keyUp"):
            page.call("Input.dispatchKeyEvent", type=kind, key="Enter", windowsVirtualKeyCode=13, modifiers=2)
        (answer,) = expected(version, [line])
        page.until(f"target.value === {json.dumps(answer['text'])}")


def test_its_policy_lets_it_ask_nobody_else(page: "Page", address: str) -> None:
    page.open(address)
    asked = """new Promise((done) => {
  addEventListener("securitypolicyviolation", (event) => done(event.effectiveDirective));
  fetch("http://127.0.0.1:1/").catch(() => setTimeout(done, 0, "nothing"));
})"""
    assert page.run(asked) == "connect-src"


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_window(page: "Page", address: str, width: int) -> None:
    page.resize(width, 800)
    page.open(address)
    page.until(READY)
    page.run(f"source.value = target.textContent = {json.dumps('x' * 500)}")
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run("target.scrollWidth <= target.clientWidth")  # all of it can be read


def test_a_model_that_is_not_there_is_told(page: "Page", address: str) -> None:
    page.open(address.replace("fr-en/1", "fr-en/7"))
    page.until(FAILED)
    assert page.text("#status") == (
        "/models/fr-en/7/manifest.json is not there (status 404): "
        "name the directory of an exported version, as in ?model=/models/fr-en/1/"
    )
    assert page.run("document.querySelector('button').disabled")


def test_packages_that_are_not_there_are_told(page: "Page", site: tuple[str, Path]) -> None:
    url, folder = site
    (folder / "examples").mkdir()
    for name in ("browser", "javascript"):
        (folder / "examples" / name).symlink_to(EXAMPLES / name)
    page.open(url + PLACE)
    page.until(FAILED)
    assert page.text("#status") == (
        "onnxruntime-web is not there: run npm ci --ignore-scripts in the folder examples"
    )
