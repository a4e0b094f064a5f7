"""Light and dark, wide and narrow, by keys alone, and for those who listen."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.support.browser import errors
from tests.support.serving.web_page import alternatives, explored, opened, options, translated

if TYPE_CHECKING:
    from playwright.sync_api import Page

TEXT = (
    "Est-ce que Marie a écrit une lettre ce matin ?\nJe suis étudiant."  # of which this model says many words
)
BEYOND = """(elements, width) => elements
  .filter(element => !element.closest("#scrolled, #overview, .unseen"))
  .filter(element => element.getBoundingClientRect().right > width)
  .map(element => element.outerHTML.slice(0, 80))"""
LIGHT, DARK = "rgb(243, 245, 248)", "rgb(16, 21, 27)"


def used(page: "Page", address: str) -> "Page":
    """Everything that it has is there to be seen."""
    opened(page, address)
    translated(page, TEXT)
    page.locator(".word").nth(1).click()
    expect(page.locator("#looked")).to_contain_text("looked at")
    explored(page)
    return page


def test_it_is_as_light_or_dark_as_the_system_until_somebody_chooses(page: "Page", address: str) -> None:
    body, theme = page.locator("body"), page.locator("#theme")
    opened(page, address)
    expect(body).to_have_css("background-color", LIGHT)
    page.emulate_media(color_scheme="dark")
    expect(body).to_have_css("background-color", DARK)
    expect(theme).to_have_attribute("aria-pressed", "true")
    theme.click()
    expect(body).to_have_css("background-color", LIGHT)
    page.reload()
    expect(body).to_have_css("background-color", LIGHT)
    expect(theme).to_have_attribute("aria-pressed", "false")
    page.emulate_media(color_scheme="light")
    theme.click()
    expect(body).to_have_css("background-color", DARK)


def test_the_small_heads_are_painted_in_the_colours_of_the_theme(page: "Page", address: str) -> None:
    used(page, address)
    canvas = page.locator("#overview canvas").first
    colour = "canvas => [...canvas.getContext('2d').getImageData(0, 0, 1, 1).data]"
    light = canvas.evaluate(colour)
    page.locator("#theme").click()
    assert canvas.evaluate(colour) != light


@pytest.mark.parametrize("width", [320, 360, 768, 1280, 2560])
def test_at_any_width_nothing_sticks_out(page: "Page", address: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 740})
    opened(page, address)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    used(page, address)
    alternatives(page)
    options(page, 0)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator("#options *").evaluate_all(BEYOND, width) == []
    translated(page, TEXT + " " + "Donaudampfschifffahrt" * 8)
    expect(page.locator("#heads-content")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator("main *").evaluate_all(BEYOND, width) == []


def test_all_can_be_reached_and_used_by_keys_alone(page: "Page", address: str) -> None:
    opened(page, address)
    focused, title, looked = page.locator(":focus"), page.locator("#map-title"), page.locator("#looked")

    def tab_to(selector: str, key: str = "Tab") -> None:
        for _ in range(60):
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
            page.keyboard.press(key)
        raise AssertionError(f"{key} does not lead to {selector}")

    expect(page.locator("#text")).to_be_focused()  # where one begins
    translated(page, TEXT)
    tab_to(".word")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#options-list")).to_be_focused()
    page.keyboard.press("Escape")
    expect(looked).to_contain_text(f"{focused.inner_text()} looked at")
    page.keyboard.press("End")
    expect(page.locator(".word").last).to_be_focused()
    page.keyboard.press("Escape")
    expect(looked).to_contain_text("Choose a word")
    tab_to("#examples button")
    tab_to("summary")
    page.keyboard.press("Space")
    expect(page.locator("#map tbody td").first).to_be_visible()
    tab_to("#kind input")
    page.keyboard.press("ArrowLeft")
    expect(title).to_have_text("Output–Output, layer 2 of 2, head 1 of 2")
    expect(page.locator("#kind :focus")).to_be_attached()
    tab_to("#overview button")
    page.keyboard.press("ArrowUp")
    expect(title).to_have_text("Output–Output, layer 1 of 2, head 1 of 2")
    expect(focused).to_have_accessible_name("Layer 1, head 1")
    tab_to("#map td")
    page.keyboard.press("ArrowDown")
    row = page.locator("#map tbody th").nth(1).inner_text()
    expect(page.locator("#tip")).to_contain_text(f"{row} looks at")
    tab_to("#clear-history")
    page.keyboard.press("Enter")
    expect(page.locator("#history")).to_be_hidden()
    expect(page.locator("#text")).to_be_focused()
    tab_to("#theme", "Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("body")).to_have_css("background-color", DARK)
    assert errors(page) == []


def test_axe_finds_nothing_wrong_in_any_state_of_the_page(
    page: "Page", address: str, violations_in: Callable[[str], list[str]]
) -> None:
    opened(page, address)
    assert violations_in("serving") == []
    used(page, address)
    assert violations_in("serving-used") == []
    alternatives(page)
    options(page, 0)
    assert violations_in("serving-options") == []
    page.keyboard.press("Escape")
    page.locator("#text").fill("Je suis étudiant. " * 280)
    expect(page.locator("#excess")).to_contain_text("too long")
    expect(page.locator("#excess")).to_be_in_viewport()  # of a phone as well, where the text ends far below
    assert violations_in("serving-refused") == []
    page.evaluate("document.querySelector('#token-dialog').showModal()")
    assert violations_in("serving-token") == []
