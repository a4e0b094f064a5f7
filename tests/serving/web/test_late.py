"""What the page shows while it waits for an answer, and when an answer comes late or is an odd one."""

import json
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

from tests.support.browser import errors, requested
from tests.support.serving.web_page import alternatives, explored, opened, translated, whole

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

FIRST, SECOND = "Les enfants aiment le riz.", "Je suis étudiant."
TEXT = f"{FIRST}\n{SECOND}"
MAP = "() => document.querySelector('#map').textContent"


def kept(page: "Page", address: str, field: str = "") -> "list[Route]":
    """Return the list of the requests to an address with a field, which wait from now on."""
    waiting: list[Route] = []

    def keep(route: "Route") -> None:
        if field in (route.request.post_data or ""):
            waiting.append(route)
        else:
            route.continue_()

    page.route(address, keep)
    return waiting


def test_translations_of_another_sentence_cannot_be_clicked_while_those_of_this_one_are_awaited(
    page: "Page", address: str
) -> None:
    opened(page, address)
    translated(page, TEXT)
    alternatives(page)
    waiting = kept(page, "**/translate", "scores")
    with page.expect_request(lambda request: "scores" in (request.post_data or "")):
        page.locator(".word").last.click()  # of the second sentence
    expect(page.locator("#alternatives-notice")).to_contain_text("Looking for")
    expect(page.locator("#alternatives-list li")).to_have_count(0)
    expect(page.locator("#alternatives-hint")).to_be_hidden()
    waiting[0].continue_()
    expect(page.locator("#alternatives-of")).to_have_text(SECOND)
    expect(page.locator("#alternatives-list li")).not_to_have_count(0)
    assert errors(page) == []


def test_the_attention_of_an_undone_sentence_that_comes_late_is_not_shown(page: "Page", address: str) -> None:
    opened(page, address)
    untouched = translated(page, FIRST)
    alternatives(page)
    explored(page)
    before = page.evaluate(MAP)
    waiting = kept(page, "**/attention")
    with page.expect_request("**/attention"):
        page.locator("#alternatives-list button").last.click()
    page.get_by_role("button", name="Undo changes").click()
    assert whole(page) == untouched
    with page.expect_response("**/attention") as late:
        waiting[0].continue_()
    late.value.finished()
    requested(page)  # the page has drawn
    assert page.evaluate(MAP) == before
    assert errors(page) == []


def test_a_word_tells_what_it_looked_at_where_the_text_has_no_spaces(page: "Page", address: str) -> None:
    def joined(route: "Route") -> None:
        answer: Any = route.fetch().json()
        for part in answer["parts"]:
            part["source"] = [piece.replace("▁", "") for piece in part["source"]]
        route.fulfill(json=answer)

    opened(page, address)
    page.route("**/attention", joined)
    translated(page, TEXT)
    word = page.locator(".word").last
    word.click()
    expect(page.locator("#looked")).to_contain_text(f"{word.inner_text()} looked at")
    assert errors(page) == []


def test_the_code_of_a_target_language_is_no_word_of_the_text(page: "Page", address: str) -> None:
    opened(page, address)
    pieces = [">>fra<<", "▁Les", "▁en", "fants", "</s>"]
    script = f"import('/static/pieces.js').then(({{words}}) => words({json.dumps(pieces)}))"
    assert page.evaluate(script) == [
        {"text": "Les", "first": 1, "end": 2},
        {"text": "enfants", "first": 2, "end": 4},
    ]


def test_a_text_of_which_no_attention_is_told_has_a_notice_and_no_error(page: "Page", address: str) -> None:
    opened(page, address)
    page.route("**/attention", lambda route: route.fulfill(json={"parts": []}))
    translated(page, FIRST)
    page.locator(".word").first.click()
    expect(page.locator("#looked")).to_contain_text("do not divide into its words")
    assert errors(page) == []
