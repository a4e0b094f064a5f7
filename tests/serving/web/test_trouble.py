"""What goes wrong is said kindly, and what passes by itself is tried again without anybody's doing."""

import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from serving.http import routes
from serving.limits import Limits
from tests.support.serving.serve_process import serving_both
from tests.support.serving.web_page import DONE, READY, asked, held, opened, translated, until_told, write

if TYPE_CHECKING:
    from tests.browser import Page

TEXT = "Où est la gare ?"


# The queue, whose length is 1, has one in it.
FULL = """(async () => {
  while (!/^translation_queue_depth\\S* 1/m.test(await (await fetch("metrics")).text()));
})()"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def test_too_long_a_text_is_told_before_it_is_sent(page: "Page") -> None:
    with held(limits=Limits(characters=12)) as server:
        server.runtime.allow(1000)
        opened(page, server.address)
        page.until(READY)
        assert translated(page, "😀" * 2) == "😀😀"
        assert page.text("#count") == "2 of 12 characters"
        sent = len(page.requests)
        write(page, "Je cherche la gare")
        assert until_told(page, "too long") == "This is too long by 6 characters: shorten it, or divide it."
        assert page.text("#count") == "18 of 12 characters"
        assert page.run("text.ariaInvalid") == "true"
        page.press("Enter", ctrl=True)
        page.settle()
        assert len(page.requests) == sent
        assert translated(page, "Merci") == "Merci"
        assert page.text("#notice") == ""
        assert page.errors == []


def test_what_the_server_alone_can_count_is_told_as_well(page: "Page") -> None:
    with held(limits=Limits(tokens=3)) as server:
        opened(page, server.address)
        page.until(READY)
        write(page, "Je cherche la gare")
        assert "and 3 are taken: divide it" in until_told(page, "does not take this text")


def test_a_busy_server_is_asked_again_until_it_has_time(page: "Page") -> None:
    with held(waiting=1) as server:
        opened(page, server.address)
        page.until(READY)
        others = [
            threading.Thread(target=asked, args=(server.address, "translate"), kwargs={"q": "Merci"})
            for _ in range(2)
        ]
        others[0].start()
        while not server.runtime.rows:  # one that is being decoded, one that waits
            time.sleep(0.001)
        others[1].start()
        page.run(FULL)
        write(page, TEXT)
        assert until_told(page, "Many are asking").startswith(
            "Many are asking at the moment. Trying again in "
        )
        assert page.run("announced.textContent") == ""
        server.runtime.allow(1000)
        page.until(DONE)
        assert page.text("#translation") == TEXT
        assert page.text("#notice") == ""
        for each in others:
            each.join(20)


def test_a_server_that_goes_and_comes_back_is_found_again(page: "Page", exported: Path) -> None:
    port = free_port()
    with serving_both(exported, "--http-port", port) as (process, _, address):
        opened(page, address)
        first = translated(page, TEXT)
        process.kill()
        process.wait()
        write(page, "Merci.")
        assert "Your text is safe" in until_told(page, "does not answer")
    with serving_both(exported, "--http-port", port) as (process, _, address):
        page.until(DONE)
        assert page.text("#notice") == ""
        assert page.text("#translation") == asked(address, "translate", q="Merci.")["translatedText"]
        assert translated(page, TEXT) == first
        assert page.run("text.value") == TEXT


def test_a_stream_that_breaks_off_begins_again(page: "Page") -> None:
    with held() as server:
        opened(page, server.address)
        page.until(READY)
        write(page, "Je cherche la gare")
        server.runtime.allow(2)
        page.until("document.querySelector('#translation.growing')")
        server.cut()
        until_told(page, "does not answer")
        server.runtime.allow(1000)
        page.until(DONE)
        assert page.text("#translation") == "Je cherche la gare"
        assert page.text("#notice") == ""


def test_what_takes_too_long_is_told_and_may_be_asked_again(
    page: "Page", monkeypatch: pytest.MonkeyPatch
) -> None:
    with held() as server:
        opened(page, server.address)
        page.until(READY)
        with monkeypatch.context() as patch:
            patch.setattr(routes, "SECONDS", 0.3)
            write(page, TEXT)
            until_told(page, "longer than the server allows")
        server.runtime.allow(1000)
        page.press("Enter", ctrl=True)
        page.until(DONE)
        assert page.text("#translation") == TEXT
        assert page.text("#notice") == ""


def test_a_server_with_tokens_is_given_one_which_this_tab_alone_keeps(
    page: "Page", exported: Path, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("letmein\n")
    tokens.chmod(0o600)
    with serving_both(exported, "--token-file", tokens) as (_, _, address):
        opened(page, address)
        page.until("document.querySelector('#key').open")
        assert page.run("document.activeElement.id") == "token"
        page.type("wrong")
        page.press("Enter")
        until_told(page, "It does not know that one", "#key-told")
        page.type("letmein")
        page.press("Enter")
        page.until(READY)
        translated(page, TEXT)
        page.click(".word")
        until_told(page, "looked at", "#looked")
        assert page.run("sessionStorage.getItem('token')") == "letmein"
        assert "letmein" not in page.run("JSON.stringify(localStorage) + document.cookie + location")
        page.open(f"http://{address}/")
        page.until(READY)  # unasked
        assert not page.run("document.querySelector('#key').open")
        assert page.errors == []
