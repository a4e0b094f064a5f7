"""The browser that other tests look at pages with: it misses neither a request nor an error."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.browser import Page


def written(path: Path, body: str) -> str:
    path.write_text(f"<!DOCTYPE html><html><body>{body}</body></html>")
    return path.as_uri()


def test_a_quiet_page_asks_for_itself_alone(page: "Page", tmp_path: Path) -> None:
    url = written(tmp_path / "quiet.html", "<p>Hello</p><script>console.log('all is well')</script>")
    page.open(url)
    assert page.requests == [url]
    assert page.errors == []
    assert page.text("p") == "Hello"


@pytest.mark.parametrize(
    "body",
    [
        '<img src="http://127.0.0.1:9/asked">',
        '<link rel="stylesheet" href="http://127.0.0.1:9/asked">',
        '<script>fetch("http://127.0.0.1:9/asked").catch(() => 0)</script>',
        '<style>p { background: url("http://127.0.0.1:9/asked") }</style><p>Hello</p>',
    ],
)
def test_whatever_a_page_asks_for_is_noted(page: "Page", tmp_path: Path, body: str) -> None:
    page.open(written(tmp_path / "asking.html", body))
    assert "http://127.0.0.1:9/asked" in page.requests


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("<script>nowhere.to.be.found</script>", "nowhere is not defined"),
        ("<script>console.error('so', 7)</script>", "so 7"),
        ("<script>Promise.reject(new Error('nobody listens'))</script>", "nobody listens"),
        (
            "<meta http-equiv='Content-Security-Policy' content=\"script-src 'none'\"><script>1</script>",
            "Content Security Policy",
        ),
    ],
)
def test_whatever_goes_wrong_in_a_page_is_noted(page: "Page", tmp_path: Path, body: str, error: str) -> None:
    page.open(written(tmp_path / "wrong.html", body))
    assert any(error in each for each in page.errors), page.errors


def test_mouse_and_keys_are_a_users(page: "Page", tmp_path: Path) -> None:
    body = """<div style="height: 3000px"></div><input>
<button onclick="said.innerText += event.isTrusted">a</button>
<p id="said" onmouseover="innerText += '!'" onkeydown="innerText += event.key" tabindex="0">.</p>"""
    page.open(written(tmp_path / "page.html", body))
    page.click("button")
    page.hover("#said")
    page.press("Tab")
    page.press("ArrowLeft")
    assert page.text("#said") == ".true!ArrowLeft"
    page.press("Tab", shift=True)
    page.press("Tab", shift=True)
    page.press("x")
    page.type("é")
    assert page.run("document.querySelector('input').value") == "xé"


def test_what_lies_under_something_else_cannot_be_clicked(page: "Page", tmp_path: Path) -> None:
    page.open(
        written(tmp_path / "page.html", '<button>a</button><p style="position: fixed; inset: 0">over</p>')
    )
    with pytest.raises(Exception, match="cannot point at button: it lies under <p style="):
        page.click("button")
    with pytest.raises(Exception, match=r"cannot point at \.none: there is none"):
        page.click(".none")


def test_what_comes_later_can_be_waited_for(page: "Page", tmp_path: Path) -> None:
    body = "<p>no</p><script>setTimeout(() => { document.querySelector('p').innerText = 'yes' }, 50)</script>"
    page.open(written(tmp_path / "page.html", body))
    page.until("document.querySelector('p').innerText === 'yes'")
    assert page.text("p") == "yes"


def test_an_address_that_cannot_be_reached_is_an_error(page: "Page", tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"none\.html: net::ERR_FILE_NOT_FOUND"):
        page.open((tmp_path / "none.html").as_uri())
