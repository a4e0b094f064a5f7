"""What is written is translated as it is spoken, by the version that is named, and can be found again."""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.support.browser import errors, requested
from tests.support.serving.serve_process import serving_both
from tests.support.serving.web_page import asked, held, opened, ready, translated, whole

if TYPE_CHECKING:
    from playwright.sync_api import Page

TEXT = "Où est la gare ?"


def test_a_text_is_translated_without_a_press_and_nobody_else_is_asked(page: "Page", address: str) -> None:
    opened(page, address)
    for text in (TEXT, "Bonjour.\n\nMerci !  Au revoir."):
        assert translated(page, text) == asked(address, "translate", q=text)["translatedText"]
    expect(page.locator("#by")).to_contain_text("by fr-en 1")
    assert [url for url in requested(page) if not url.startswith(f"http://{address}/")] == []
    assert errors(page) == []


def test_it_says_from_which_language_to_which_and_what_it_was_trained_on(page: "Page", address: str) -> None:
    opened(page, address)
    expect(page.locator("#model option")).to_have_text(["French to English · fr-en"])
    expect(page.locator("#about-model")).to_have_text("Version 1 in float32, trained on the phrasebook fr-en")
    expect(page.locator("#from")).to_have_text("French")
    expect(page.locator("#to")).to_have_text("English")
    expect(page.locator("#text")).to_have_attribute("lang", "fr")
    expect(page.locator("#translation")).to_have_attribute("lang", "en")
    (model,) = asked(address, "models")["models"]
    expect(page.locator("#examples button")).to_have_text(model["versions"][0]["examples"])


def test_an_example_is_one_click_away(page: "Page", address: str) -> None:
    opened(page, address)
    button = page.locator("#examples button").nth(1)
    example = button.inner_text()
    button.click()
    assert whole(page) == asked(address, "translate", q=example)["translatedText"]
    expect(page.locator("#text")).to_have_value(example)


def test_the_translation_grows_as_it_is_spoken_and_is_announced_when_it_is_whole(page: "Page") -> None:
    with held() as server:
        opened(page, server.address)
        page.locator("#text").fill("Je cherche la gare")
        translation, announced = page.locator("#translation"), page.locator("#announced")
        seen = [""]
        server.runtime.allow(1)  # the space that begins the first word, which has no text yet
        while seen[-1] != "Je cherche la gare":
            server.runtime.allow(1)
            expect(translation).not_to_have_js_property("textContent", seen[-1])
            seen.append(translation.inner_text())
            assert seen[-1].startswith(seen[-2])
            assert announced.text_content() == ""
        assert len(seen) > 4
        server.runtime.allow(1)  # the end
        expect(announced).to_have_text("Je cherche la gare")
        assert whole(page) == "Je cherche la gare"
    assert errors(page) == []


def test_a_new_text_puts_an_end_to_the_one_before(page: "Page") -> None:
    with held() as server:
        opened(page, server.address)
        page.locator("#text").fill("Je cherche la gare")
        server.runtime.allow(2)
        expect(page.locator("#translation.growing")).to_be_visible()
        page.locator("#text").fill("Merci")
        server.runtime.allow(40)  # a row that is left takes one at most
        assert whole(page) == "Merci"
        expect(page.locator("#history li span")).to_have_text(["Merci", "Merci"])


def test_control_and_enter_or_the_button_translate_at_once_and_an_empty_text_clears(
    page: "Page", address: str
) -> None:
    opened(page, address)
    first = translated(page, TEXT)
    for again in (
        lambda: page.keyboard.press("Control+Enter"),
        lambda: page.get_by_role("button", name="Translate").click(),
    ):
        with page.expect_request(f"http://{address}/translate/stream"):
            again()
        assert whole(page) == first
    assert requested(page).count(f"http://{address}/translate/stream") == 3
    page.locator("#text").select_text()
    page.keyboard.press("Delete")
    expect(page.locator("#empty")).to_be_visible()
    expect(page.locator("#translation")).to_be_empty()


def test_what_was_translated_is_found_again_after_a_reload_until_it_is_cleared(
    page: "Page", address: str
) -> None:
    opened(page, address)
    said = {text: translated(page, text) for text in ("Merci.", "Merci. Où est", TEXT)}
    entries = [said_or_written for text in (TEXT, "Merci. Où est") for said_or_written in (text, said[text])]
    history = page.locator("#history li span")
    expect(history).to_have_text(entries)  # the second goes on from the first
    page.reload()
    ready(page)
    expect(history).to_have_text(entries)
    page.locator("#history li button").nth(1).click()
    assert whole(page) == said["Merci. Où est"]
    expect(page.locator("#text")).to_have_value("Merci. Où est")
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#history")).to_be_hidden()
    page.reload()
    ready(page)
    expect(history).to_have_count(0)


def test_what_it_keeps_is_bounded_and_what_others_have_kept_there_hurts_nobody(
    page: "Page", address: str
) -> None:
    def keep(text: str) -> None:
        page.evaluate("text => localStorage.setItem('history', text)", text)
        page.reload()
        ready(page)

    opened(page, address)
    keep(json.dumps([{"text": f"text {n}", "translation": "x", "model": "fr-en"} for n in range(20)]))
    translated(page, TEXT)
    expect(page.locator("#history li")).to_have_count(20)
    assert page.evaluate("JSON.parse(localStorage.getItem('history')).length") == 20
    for damaged in ("{", "7", '[{"text": 1}, null]', '"a"'):
        keep(damaged)
        expect(page.locator("#history li")).to_have_count(0)
        assert errors(page) == []


def test_whatever_a_text_says_is_shown_and_not_obeyed(page: "Page") -> None:
    hostile = (
        """<img src=x onerror="document.title='mine'"><script>document.title='mine'</script> &lt;b&gt;"""
    )
    kept = page.locator("#history li span").first
    with held() as server:
        server.runtime.allow(10_000)
        opened(page, server.address)
        said = translated(page, hostile)
        assert "<script>" in said
        expect(page.locator("#announced")).to_have_text(said)
        expect(kept).to_have_text(hostile)
        expect(page.locator("img, main script, #translation b")).to_have_count(0)
        page.reload()  # and from what is kept
        ready(page)
        expect(kept).to_have_text(hostile)
        assert all(url.startswith(f"http://{server.address}/") for url in requested(page))
        expect(page).to_have_title("Translate")
        assert errors(page) == []


def test_its_policy_lets_no_script_in_and_no_word_out(page: "Page", address: str) -> None:
    opened(page, address)
    refused = """new Promise(done => {
  const found = [];
  addEventListener("securitypolicyviolation", ({effectiveDirective}) => {
    found.push(effectiveDirective);
    if (found.length === 3) done(found.sort());
  });
  document.body.append(Object.assign(document.createElement("script"), {textContent: "document.title = 1"}));
  document.body.append(Object.assign(document.createElement("img"), {src: "http://127.0.0.1:1/a.png"}));
  fetch("http://127.0.0.1:1/").catch(() => {});
})"""
    assert page.evaluate(refused) == ["connect-src", "img-src", "script-src-elem"]
    expect(page).to_have_title("Translate")


def test_a_version_that_has_become_the_default_is_the_one_that_is_told(
    page: "Page", root: Path, another: Path
) -> None:
    with serving_both(root, "--watch", 0.2) as (_, _, address):
        opened(page, address)
        translated(page, TEXT)
        shutil.copytree(another, root / "fr-en" / ".2")
        (root / "fr-en" / ".2").rename(root / "fr-en" / "2")
        page.evaluate(
            "(async () => { while ((await (await fetch('models')).json()).models[0].default !== 2); })()"
        )
        translated(page, "Merci.")
        expect(page.locator("#about-model")).to_contain_text("Version 2")
        expect(page.locator("#by")).to_contain_text("by fr-en 2")
        expect(page.locator("#model option")).to_have_text(
            ["French to English · fr-en", "French to English · fr-en, version 1"]
        )
        page.locator("#model").select_option("French to English · fr-en, version 1")
        expect(page.locator("#by")).to_contain_text("by fr-en 1")
