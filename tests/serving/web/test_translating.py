"""What is written is translated as it is spoken, by the version that is named, and can be found again."""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.serving.serve_process import serving_both
from tests.support.serving.web_page import (
    DONE,
    READY,
    WORDS,
    asked,
    held,
    opened,
    translated,
    until_told,
    write,
)

if TYPE_CHECKING:
    from tests.browser import Page

TEXT = "Où est la gare ?"


def test_a_text_is_translated_without_a_press_and_nobody_else_is_asked(page: "Page", address: str) -> None:
    opened(page, address)
    for text in (TEXT, "Bonjour.\n\nMerci !  Au revoir."):
        assert translated(page, text) == asked(address, "translate", q=text)["translatedText"]
    assert page.text("#by").startswith("by fr-en 1")
    page.settle()
    assert [each for each in page.requests if not each.startswith(f"http://{address}/")] == []
    assert page.errors == []


def test_it_says_from_which_language_to_which_and_what_it_was_trained_on(page: "Page", address: str) -> None:
    opened(page, address)
    page.until(READY)
    assert page.texts("#model option") == ["French to English · fr-en"]
    assert page.text("#about") == "Version 1 in float32, trained on the phrasebook fr-en"
    assert (page.text("#from"), page.text("#to")) == ("French", "English")
    assert page.run("[text.lang, translation.lang]") == ["fr", "en"]
    (model,) = asked(address, "models")["models"]
    assert page.texts("#examples button") == model["versions"][0]["examples"]


def test_an_example_is_one_click_away(page: "Page", address: str) -> None:
    opened(page, address)
    page.until("document.querySelectorAll('#examples button').length")
    example = page.texts("#examples button")[1]
    page.click("#examples li:nth-child(2) button")
    page.until(DONE)
    assert page.run("text.value") == example
    assert page.text("#translation") == asked(address, "translate", q=example)["translatedText"]


def test_the_translation_grows_as_it_is_spoken_and_is_announced_when_it_is_whole(page: "Page") -> None:
    with held() as server:
        opened(page, server.address)
        page.until(READY)
        write(page, "Je cherche la gare")
        seen = [""]
        while seen[-1] != "Je cherche la gare":
            server.runtime.allow(1)
            page.until(f"document.querySelector('#translation').textContent !== {json.dumps(seen[-1])}")
            seen.append(page.text("#translation"))
            assert seen[-1].startswith(seen[-2])
            assert page.run("announced.textContent") == ""
        assert len(seen) > 4
        server.runtime.allow(1)  # the end
        page.until(DONE)
        assert page.run("announced.textContent") == "Je cherche la gare"
    assert page.errors == []


def test_a_new_text_puts_an_end_to_the_one_before(page: "Page") -> None:
    with held() as server:
        opened(page, server.address)
        page.until(READY)
        write(page, "Je cherche la gare")
        server.runtime.allow(2)
        page.until("document.querySelector('#translation.growing')")
        write(page, "Merci")
        server.runtime.allow(40)  # a row that is left takes one at most
        page.until(DONE)
        assert page.text("#translation") == "Merci"
        assert page.texts("#history li button") == ["Merci\nMerci"]


def test_control_and_enter_or_the_button_translate_at_once_and_an_empty_text_clears(
    page: "Page", address: str
) -> None:
    opened(page, address)
    first = translated(page, TEXT)
    stream = f"http://{address}/translate/stream"
    for again in (lambda: page.press("Enter", ctrl=True), lambda: page.click("#translate")):
        before = page.requests.count(stream)
        again()
        page.until(DONE)
        assert page.requests.count(stream) == before + 1
        assert page.text("#translation") == first
    page.run("text.select()")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="Delete", windowsVirtualKeyCode=46)
    page.until("!document.querySelector('#empty').hidden")
    assert page.text("#translation") == ""
    assert page.run(WORDS) == 0


def test_what_was_translated_is_found_again_after_a_reload_until_it_is_cleared(
    page: "Page", address: str
) -> None:
    opened(page, address)
    said = {text: translated(page, text) for text in ("Merci.", "Merci. Où est", TEXT)}
    entries = [f"{text}\n{said[text]}" for text in (TEXT, "Merci. Où est")]  # which goes on from the first
    assert page.texts("#history li button") == entries
    page.open(f"http://{address}/")
    page.until(READY)
    assert page.texts("#history li button") == entries
    page.click("#history li:nth-child(2) button")
    page.until(DONE)
    assert page.run("text.value") == "Merci. Où est"
    assert page.text("#translation") == said["Merci. Où est"]
    page.click("#forget")
    assert page.run("document.querySelector('#history').hidden")
    page.open(f"http://{address}/")
    page.until(READY)
    assert page.texts("#history li button") == []


def test_what_it_keeps_is_bounded_and_what_others_have_kept_there_hurts_nobody(
    page: "Page", address: str
) -> None:
    opened(page, address)
    entries = [{"text": f"text {number}", "translation": "x", "model": "fr-en"} for number in range(20)]
    page.run(f"localStorage.setItem('history', {json.dumps(json.dumps(entries))})")
    page.open(f"http://{address}/")
    translated(page, TEXT)
    assert page.run("JSON.parse(localStorage.getItem('history')).length") == 20
    for damaged in ("{", "7", '[{"text": 1}, null]', '"a"'):
        page.run(f"localStorage.setItem('history', {json.dumps(damaged)})")
        page.open(f"http://{address}/")
        page.until(READY)
        assert page.errors == []
        assert page.texts("#history li button") == []


def test_whatever_a_text_says_is_shown_and_not_obeyed(page: "Page") -> None:
    hostile = (
        """<img src=x onerror="document.title='mine'"><script>document.title='mine'</script> &lt;b&gt;"""
    )
    with held() as server:
        server.runtime.allow(10_000)
        opened(page, server.address)
        page.until(READY)
        said = translated(page, hostile)
        assert "<script>" in said and said == page.run("announced.textContent")
        assert page.texts("#history li button span")[0] == hostile
        assert page.run("document.querySelectorAll('img, main script, #translation b').length") == 0
        page.open(f"http://{server.address}/")  # and from what is kept
        page.until(READY)
        assert page.texts("#history li button span")[0] == hostile
        page.settle()
        assert page.run("document.title") == "Translate"
        assert page.errors == []
        assert all(each.startswith(f"http://{server.address}/") for each in page.requests)


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
    assert page.run(refused) == ["connect-src", "img-src", "script-src-elem"]
    assert page.run("document.title") == "Translate"


def test_a_version_that_has_become_the_default_is_the_one_that_is_told(
    page: "Page", root: Path, another: Path
) -> None:
    with serving_both(root, "--watch", 0.2) as (_, _, address):
        opened(page, address)
        translated(page, TEXT)
        shutil.copytree(another, root / "fr-en" / ".2")
        (root / "fr-en" / ".2").rename(root / "fr-en" / "2")
        page.run(
            "(async () => { while ((await (await fetch('models')).json()).models[0].default !== 2); })()"
        )
        translated(page, "Merci.")
        until_told(page, "Version 2", "#about")
        assert page.text("#by").startswith("by fr-en 2")
        assert page.texts("#model option") == [
            "French to English · fr-en",
            "French to English · fr-en, version 1",
        ]
        page.run("model.value = 1, model.dispatchEvent(new Event('change'))")
        until_told(page, "by fr-en 1", "#by")
