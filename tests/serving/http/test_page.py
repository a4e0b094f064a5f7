"""The files of the page: at their addresses, asked for each time, sent when they changed."""

import re
from pathlib import Path

import pytest

from serving.http.middleware import HEADERS
from serving.http.static_page import TYPES, page_files
from serving.run import Listening
from serving.security.listening import Security
from tests.support.serving.certificates import Files
from tests.support.serving.echo import run
from tests.support.serving.http_site import refused, site

PAGE = page_files()


def test_the_page_and_all_it_is_made_of_are_at_their_addresses() -> None:
    async def scenario() -> None:
        async with site() as http:
            for address, file in PAGE.items():
                async with http.get(address) as response:
                    assert response.status == 200
                    assert await response.read() == file.read_bytes()
                    assert response.headers["Content-Type"] == f"{TYPES[file.suffix]}; charset=utf-8"
                    assert response.headers["Cache-Control"] == "no-cache"
                    for name, value in HEADERS.items():
                        assert response.headers[name] == value

    run(scenario)


def test_what_it_names_is_there_and_everything_is_named() -> None:
    named = {"/"}
    for file in PAGE.values():
        text = file.read_text("utf-8")
        named |= {f"/{each}" for each in re.findall(r'(?:href|src)="(static/[^"]+)"', text)}
        named |= {f"/static/{each}" for each in re.findall(r'from "\./([^"]+)"', text)}
    assert named == PAGE.keys()


def test_a_browser_that_has_a_file_is_not_sent_it_again() -> None:
    async def scenario() -> None:
        async with site() as http:
            async with http.get("/") as response:
                tag = response.headers["ETag"]
            async with http.get("/", headers={"If-None-Match": tag}) as response:
                assert (response.status, await response.read()) == (304, b"")
                assert response.headers["ETag"] == tag
            async with http.get("/", headers={"If-None-Match": '"another"'}) as response:
                assert (response.status, await response.read()) == (200, PAGE["/"].read_bytes())

    run(scenario)


@pytest.mark.parametrize(
    "address",
    ["/static/", "/static", "/index.html", "/static/index.html", "/static/../page.py", "/static/page"],
)
def test_there_is_nothing_beside_them(address: str) -> None:
    async def scenario() -> None:
        async with site() as http:
            assert "no such path" in await refused(http.get(address), 404)

    run(scenario)


def test_its_address_can_be_opened_as_it_is_told(tmp_path: Path) -> None:
    assert Listening("::1").page(8080) == "http://[::1]:8080/"
    security = Security.of(*Files(tmp_path).server, None, None)
    assert Listening("0.0.0.0", security=security).page(443) == "https://0.0.0.0:443/"
