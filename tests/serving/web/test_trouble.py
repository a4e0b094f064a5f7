"""What goes wrong is said kindly, and what passes by itself is tried again without anybody's doing."""

import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from serving.http import routes
from serving.limits import Limits
from tests.support.browser import errors, requested
from tests.support.ports import free_port
from tests.support.serving.serve_process import serving_both
from tests.support.serving.web_page import asked, held, opened, ready, translated, whole

if TYPE_CHECKING:
    from playwright.sync_api import Page

TEXT = "Où est la gare ?"


def until_measured(page: "Page", metric: str, value: int) -> None:
    """Wait until a metric of the server has a value."""
    page.evaluate(
        """async pattern => {
  const measured = new RegExp(pattern, "m");
  while (!measured.test(await (await fetch("metrics")).text()));
}""",
        rf"^translation_{metric}\S* {value}\b",
    )


def test_too_long_a_text_is_told_before_it_is_sent(page: "Page") -> None:
    text, count, notice = (page.locator(f"#{name}") for name in ("text", "count", "excess"))
    with held(limits=Limits(characters=12)) as server:
        server.runtime.allow(1000)
        opened(page, server.address)
        assert translated(page, "😀" * 2) == "😀😀"
        expect(count).to_have_text("2 of 12 characters")
        sent = requested(page)
        text.fill("Je cherche la gare")
        expect(notice).to_contain_text("too long by 6 characters")
        expect(count).to_have_text("18 of 12 characters")
        expect(text).to_have_attribute("aria-invalid", "true")
        page.keyboard.press("Control+Enter")
        assert requested(page) == sent
        assert translated(page, "Merci") == "Merci"
        expect(notice).to_be_empty()
        assert errors(page) == []


def test_what_the_server_alone_can_count_is_told_as_well(page: "Page") -> None:
    with held(limits=Limits(tokens=3)) as server:
        opened(page, server.address)
        page.locator("#text").fill("Je cherche la gare")
        told = re.compile("The server does not accept this text: .* the limit is 3")
        expect(page.locator("#notice")).to_have_text(told)


def test_a_busy_server_is_asked_again_until_it_has_time(page: "Page") -> None:
    notice = page.locator("#notice")
    with held(waiting=1) as server:
        opened(page, server.address)
        others = [
            threading.Thread(target=asked, args=(server.address, "translate"), kwargs={"q": "Merci"})
            for _ in range(2)
        ]
        for other, metric in zip(others, ("rows", "queue_depth"), strict=True):
            other.start()
            until_measured(page, metric, 1)  # one is being decoded, one waits
        page.locator("#text").fill(TEXT)
        expect(notice).to_contain_text("The server is busy at the moment. Trying again in ")
        expect(page.locator("#announced")).to_be_empty()
        server.runtime.allow(1000)
        assert whole(page) == TEXT
        expect(notice).to_be_empty()
        for other in others:
            other.join(20)


def test_a_server_that_goes_and_comes_back_is_found_again(page: "Page", exported: Path) -> None:
    port = free_port()
    text, notice = page.locator("#text"), page.locator("#notice")
    with serving_both(exported, "--http-port", port) as (process, _, address):
        opened(page, address)
        first = translated(page, TEXT)
        process.kill()
        process.wait()
        text.fill("Merci.")
        expect(notice).to_contain_text("The server does not answer. Your text is kept")
    with serving_both(exported, "--http-port", port) as (process, _, address):
        assert whole(page) == asked(address, "translate", q="Merci.")["translatedText"]
        expect(notice).to_be_empty()
        assert translated(page, TEXT) == first
        expect(text).to_have_value(TEXT)


def test_a_stream_that_breaks_off_begins_again(page: "Page") -> None:
    notice = page.locator("#notice")
    with held() as server:
        opened(page, server.address)
        page.locator("#text").fill("Je cherche la gare")
        server.runtime.allow(2)
        expect(page.locator("#translation.growing")).to_be_visible()
        server.cut()
        expect(notice).to_contain_text("does not answer")
        server.runtime.allow(1000)
        assert whole(page) == "Je cherche la gare"
        expect(notice).to_be_empty()


def test_what_takes_too_long_is_told_and_may_be_asked_again(
    page: "Page", monkeypatch: pytest.MonkeyPatch
) -> None:
    notice = page.locator("#notice")
    with held() as server:
        opened(page, server.address)
        with monkeypatch.context() as patch:
            patch.setattr(routes, "SECONDS", 0.3)
            page.locator("#text").fill(TEXT)
            expect(notice).to_contain_text("longer than the server allows")
        server.runtime.allow(1000)
        page.keyboard.press("Control+Enter")
        assert whole(page) == TEXT
        expect(notice).to_be_empty()


def test_a_server_with_tokens_is_given_one_which_this_tab_alone_keeps(
    page: "Page", exported: Path, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("letmein\n")
    tokens.chmod(0o600)
    key, field = page.locator("#token-dialog"), page.get_by_role("textbox", name="Access token")
    with serving_both(exported, "--token-file", tokens) as (_, _, address):
        page.goto(f"http://{address}/")
        expect(key).to_be_visible()
        expect(field).to_be_focused()
        page.keyboard.type("wrong")
        page.keyboard.press("Enter")
        expect(page.locator("#token-notice")).to_contain_text("The server does not know this token")
        page.keyboard.type("letmein")
        page.keyboard.press("Enter")
        ready(page)
        translated(page, TEXT)
        page.locator(".word").first.click()
        expect(page.locator("#looked")).to_contain_text("looked at")
        assert page.evaluate("sessionStorage.getItem('token')") == "letmein"
        assert "letmein" not in page.evaluate("JSON.stringify(localStorage) + document.cookie + location")
        page.reload()
        ready(page)  # unasked
        expect(key).to_be_hidden()
        assert errors(page) == []
