"""A word of the translation is replaced by another one, and a sentence by another translation of it."""

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.support.browser import errors
from tests.support.serving.web_page import alternatives, asked, held, opened, options, translated, whole

if TYPE_CHECKING:
    from playwright.sync_api import Page

FIRST, SECOND = "Les enfants aiment le riz.", "Je suis étudiant."
TEXT = f"{FIRST}\n{SECOND}"


def others_at(address: str, text: str, prefix: str) -> dict[str, str]:
    """Return the words that the server offers after a prefix, and the sentence that each begins."""
    answer = asked(address, "translate", q=text, prefix=prefix, alternatives=7, alternatives_at_prefix=True)
    place = len(prefix.split())
    found: dict[str, str] = {}
    for one in (answer["translatedText"], *answer["alternatives"]):
        if one.split()[:place] != prefix.split():
            continue  # it goes on within the last word
        found.setdefault(one.split()[place] if place < len(one.split()) else "the end of the sentence", one)
    return found


def test_a_click_on_a_word_offers_others_and_the_sentence_goes_on_from_the_one_that_is_clicked(
    page: "Page", address: str
) -> None:
    opened(page, address)
    untouched = translated(page, TEXT)
    first, second = untouched.split("\n")
    words = first.split()
    expected = others_at(address, FIRST, words[0])
    expected.pop(words[1], None)  # it stands there
    assert options(page, 1) == list(expected)
    word, sentence = list(expected.items())[1]
    page.get_by_role("option").filter(has_text=word).first.click()
    assert whole(page) == f"{sentence}\n{second}"
    expect(page.locator("#announced")).to_have_text(f"{sentence}\n{second}")
    expect(page.locator("#options")).to_be_hidden()
    place = len(sentence.split())  # a word of the other sentence
    of_second = others_at(address, SECOND, "")
    of_second.pop(second.split()[0], None)
    assert options(page, place) == list(of_second)
    page.get_by_role("listbox").press("Enter")
    assert whole(page) == f"{sentence}\n{next(iter(of_second.values()))}"
    options(page, 0)
    page.locator("#text").click()  # a press elsewhere changes nothing
    expect(page.locator("#options")).to_be_hidden()
    page.get_by_role("button", name="Undo changes").click()
    assert whole(page) == untouched
    expect(page.get_by_role("button", name="Undo changes")).to_be_hidden()
    assert errors(page) == []


def test_a_word_is_replaced_by_keys_and_one_of_ones_own_is_typed(page: "Page", address: str) -> None:
    opened(page, address)
    untouched = translated(page, FIRST)
    words = untouched.split()
    listed, word = page.get_by_role("listbox"), page.locator(".word").nth(2)
    expected = others_at(address, FIRST, " ".join(words[:2]))
    expected.pop(words[2], None)
    word.focus()
    page.keyboard.press("Enter")
    expect(listed).to_be_focused()
    page.keyboard.press("Escape")
    expect(word).to_be_focused()
    expect(listed).to_be_hidden()
    page.keyboard.press("Enter")  # releases the word
    page.keyboard.press("Enter")
    expect(listed).to_be_focused()
    for key, index in (("ArrowDown", 1), ("End", len(expected) - 1), ("Home", 0), ("ArrowDown", 1)):
        page.keyboard.press(key)
        expect(listed.locator("[aria-selected=true]")).to_have_id(f"option-{index}")
        expect(listed).to_have_attribute("aria-activedescendant", f"option-{index}")
    page.keyboard.press("Enter")
    sentence = list(expected.values())[1]
    before = sentence.split()[:2]  # of a loop, which is cut, fewer words are left
    place = min(2, len(sentence.split()) - 1)
    assert whole(page) == sentence
    expect(page.locator(".word").nth(place)).to_be_focused()

    page.keyboard.press("Enter")
    expect(listed).to_be_focused()
    page.keyboard.type("drink")  # the first letter leads to the field
    expect(page.get_by_label("Or write what comes here")).to_have_value("drink")
    page.keyboard.press("Enter")
    prefix = f"{' '.join(before[:place])} drink"
    goes_on = asked(address, "translate", q=FIRST, prefix=prefix)["translatedText"]
    expect(page.locator("#announced")).to_have_text(goes_on)
    expect(page.locator("#looked")).to_contain_text("Choose a word")
    page.locator(".word").nth(place).click()
    expect(page.locator("#looked")).to_have_text(re.compile(r"^drink\S* looked at "))  # in this translation
    assert errors(page) == []


def test_other_translations_of_a_sentence_are_shown_with_their_scores_and_one_is_taken(
    page: "Page", address: str
) -> None:
    opened(page, address)
    second = translated(page, TEXT).split("\n")[1]
    answer = asked(address, "translate", q=FIRST, alternatives=7, scores=True)
    best = [answer["translatedText"], *answer["alternatives"]]
    assert alternatives(page) == best
    scores = page.locator("#alternatives-list .score")
    expect(scores).to_have_text([f"{score:.3f}".replace("-", "−") for score in answer["scores"]])
    last = len(best) - 1
    page.locator("#alternatives-list button").nth(last).click()
    assert whole(page) == f"{best[last]}\n{second}"
    expect(page.locator("#alternatives-list [aria-pressed=true]")).to_have_count(1)
    options(page, len(best[last].split()))  # of the second sentence, to which the panel turns
    expect(page.locator("#alternatives-of")).to_have_text(SECOND)
    assert errors(page) == []


def test_what_the_server_refuses_is_told_where_it_was_asked_for(page: "Page", address: str) -> None:
    opened(page, address)
    before = translated(page, FIRST)
    options(page, 1)
    page.get_by_label("Or write what comes here").fill("word " * 2000)
    page.get_by_role("button", name="Go on").click()
    expect(page.locator("#options-notice")).to_contain_text("Shorten it")
    assert whole(page) == before


def test_a_version_that_decodes_greedily_says_that_it_offers_nothing_else(page: "Page") -> None:
    with held() as server:
        server.runtime.allow(10_000)
        opened(page, server.address)
        translated(page, "Je cherche la gare")
        expect(page.locator("#about-model")).to_contain_text("it offers no other words")
        expect(page.locator("#looked")).to_have_text(
            "Choose a word of the translation to see what it looked at."
        )
        expect(page.locator("#alternatives")).to_be_hidden()
