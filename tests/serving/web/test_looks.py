"""Light and dark, wide and narrow, by keys alone, and for those who listen."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.needed import missing
from tests.support.serving.web_page import READY, opened, translated, until_told

if TYPE_CHECKING:
    from tests.browser import Page

AXE = Path(__file__).parents[3] / "examples" / "node_modules" / "axe-core" / "axe.min.js"
TEXT = (
    "Est-ce que Marie a écrit une lettre ce matin ?\nJe suis étudiant."  # of which this model says many words
)
GROUND = "getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(243, 245, 248)", "rgb(16, 21, 27)"


def used(page: "Page", address: str) -> "Page":
    """Everything that it has is there to be seen."""
    opened(page, address)
    translated(page, TEXT)
    page.click(".word:nth-of-type(2)")
    until_told(page, "looked at", "#looked")
    page.click("#heads summary")
    page.until("document.querySelectorAll('#map tbody td').length")
    return page


def test_it_is_as_light_or_dark_as_the_system_until_somebody_chooses(page: "Page", address: str) -> None:
    opened(page, address)
    assert page.run(GROUND) == LIGHT
    page.prefer(dark=True)
    page.settle()
    assert page.run(GROUND) == DARK
    assert page.run("theme.ariaPressed") == "true"
    page.click("#theme")
    assert page.run(GROUND) == LIGHT
    page.open(f"http://{address}/")
    assert page.run(GROUND) == LIGHT
    assert page.run("theme.ariaPressed") == "false"
    page.prefer(dark=False)
    page.click("#theme")
    assert page.run(GROUND) == DARK


def test_the_small_heads_are_painted_in_the_colours_of_the_theme(page: "Page", address: str) -> None:
    used(page, address)
    colour = """(() => { const {data} = document.querySelector('#birds canvas').getContext('2d')
  .getImageData(0, 0, 1, 1); return [...data.slice(0, 3)]; })()"""
    light = page.run(colour)
    page.click("#theme")
    assert page.run(colour) != light


@pytest.mark.parametrize("width", [320, 360, 768, 1280, 2560])
def test_at_any_width_nothing_sticks_out(page: "Page", address: str, width: int) -> None:
    page.resize(width, 740)
    opened(page, address)
    page.until(READY)
    assert page.run("document.documentElement.scrollWidth") == width
    used(page, address)
    translated(page, TEXT + " " + "Donaudampfschifffahrt" * 8)
    page.until("!document.querySelector('#explorer').hidden")
    assert page.run("document.documentElement.scrollWidth") == width
    out = f"""[...document.querySelectorAll('main *')].filter(each =>
  !each.closest('#scrolled, #birds, .unseen') &&
  each.getBoundingClientRect().right > {width}).map(each => each.outerHTML.slice(0, 80))"""
    assert page.run(out) == []


def test_all_can_be_reached_and_used_by_keys_alone(page: "Page", address: str) -> None:
    opened(page, address)
    page.until(READY)
    focused = "document.activeElement"

    def tab_to(selector: str, shift: bool = False) -> None:
        for _ in range(60):
            if page.run(f"{focused}.matches('{selector}')"):
                return
            page.press("Tab", shift)
        raise AssertionError(f"Tab does not lead to {selector}")

    assert page.run(f"{focused}.id") == "text"  # where one begins
    translated(page, TEXT)
    tab_to(".word")
    page.press("ArrowRight")
    page.press("Enter")
    chosen = page.run(f"{focused}.textContent")
    until_told(page, f"{chosen} looked at", "#looked")
    page.press("End")
    assert page.run(f"{focused} === [...document.querySelectorAll('.word')].at(-1)")
    page.press("Escape")
    assert page.text("#looked").startswith("Choose a word")
    tab_to("#examples button")
    tab_to("summary")
    page.press(" ")
    page.until("document.querySelectorAll('#map tbody td').length")
    tab_to("#kind input")
    page.press("ArrowLeft")
    assert page.text("#map-title") == "Output–Output, layer 2 of 2, head 1 of 2"
    assert page.run(f"{focused}.closest('#kind') !== null")
    tab_to("#birds button")
    page.press("ArrowUp")
    assert page.text("#map-title") == "Output–Output, layer 1 of 2, head 1 of 2"
    assert page.run(f"{focused}.ariaLabel") == "Layer 1, head 1"
    tab_to("#map td")
    page.press("ArrowDown")
    assert page.text("#weight").startswith(page.texts("#map tbody th")[1])
    tab_to("#forget")
    page.press("Enter")
    assert page.run("document.querySelector('#history').hidden")
    assert page.run(f"{focused}.id") == "text"
    tab_to("#theme", shift=True)
    page.press("Enter")
    assert page.run(GROUND) == DARK
    assert page.errors == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_no_serious_problem(page: "Page", address: str, dark: bool, width: int) -> None:
    if not AXE.exists():
        missing("axe-core", "run npm ci --ignore-scripts in examples")
    page.prefer(dark)
    page.resize(width, 800)
    opened(page, address)
    page.until(READY)
    assert problems(page) == []
    used(page, address)
    assert problems(page) == []
    page.run("document.querySelector('#key').showModal()")
    assert problems(page) == []


def problems(page: "Page") -> Any:
    page.run(AXE.read_text("utf-8") + "\n;0")
    return page.run(
        """axe.run().then(({violations}) => violations
  .filter(({impact}) => ["serious", "critical"].includes(impact))
  .map(({id, nodes}) => [id, nodes.slice(0, 3).map(each => each.html.slice(0, 99) + each.failureSummary)]))"""
    )
