"""HTTP with the certificates and the tokens of the server: who is heard, and who is not."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from serving.http.static_page import page_files
from serving.limits import Limits
from serving.registry.registry import Registry
from serving.security.listening import Security
from serving.server import Server
from tests.support.serving.certificates import Files, der, presented
from tests.support.serving.echo import echo, run
from tests.support.serving.http_site import refused, told

ASK = {"q": "Bonjour."}


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@asynccontextmanager
async def site(security: Security) -> AsyncIterator[int]:
    """-> its port."""
    server = Server(Limits(), security)
    await server.start("127.0.0.1", 0)
    port = await server.start_http("127.0.0.1", 0)
    await server.open(Registry([echo()]))
    try:
        yield port
    finally:
        await server.drain(0)


def test_where_tokens_are_needed_only_the_health_and_the_page_are_open(files: Files) -> None:
    async def scenario() -> None:
        async with (
            site(Security.of(tokens=files.tokens("a", "b"))) as port,
            aiohttp.ClientSession(f"http://127.0.0.1:{port}") as http,
        ):
            assert (await told(http.get("/healthz")))[0] == 200
            for address, file in page_files().items():
                async with http.get(address) as response:
                    assert await response.read() == file.read_bytes()
            for address in ("/static/none", "/static/page.js/"):
                await refused(http.get(address), 401)
            for call in (http.get("/metrics"), http.get("/models"), http.post("/translate", json=ASK)):
                assert "Authorization: Bearer TOKEN" in await refused(call, 401)
            for header in ("Bearer c", "a", "Bearer a, Bearer a", "Bearer ", "Bearer a b"):
                await refused(http.get("/languages", headers={"Authorization": header}), 401)
            twice = [("Authorization", "Bearer a"), ("Authorization", "Bearer a")]
            await refused(http.get("/languages", headers=twice), 401)
            for token in ("a", "b"):
                good = {"Authorization": f"Bearer {token}"}
                assert (await told(http.post("/translate", json=ASK, headers=good)))[0] == 200

    run(scenario)


def test_https_shows_the_certificate_in_use_and_clear_text_is_not_heard(files: Files) -> None:
    async def scenario() -> None:
        async with site(Security.of(*files.server)) as port:
            context = ssl.create_default_context(cafile=files.ca)
            for _ in range(2):
                async with aiohttp.ClientSession(f"https://127.0.0.1:{port}") as https:
                    assert (await told(https.post("/translate", json=ASK, ssl=context)))[0] == 200
                assert await presented(f"127.0.0.1:{port}", files.ca) == der(files.server[0])
                files.issued("server", "localhost", "127.0.0.1")
            await not_heard(f"http://127.0.0.1:{port}", None)
            await not_heard(f"https://127.0.0.1:{port}", ssl.create_default_context(cafile=files.other_ca))

    run(scenario)


@pytest.mark.parametrize("who", ["client", "strange_client", None])
def test_with_an_authority_for_clients_only_its_own_are_heard(files: Files, who: str | None) -> None:
    context = ssl.create_default_context(cafile=files.ca)
    if who is not None:
        context.load_cert_chain(*getattr(files, who))

    async def scenario() -> None:
        async with site(Security.of(*files.server, files.ca)) as port:
            address = f"https://127.0.0.1:{port}"
            if who != "client":
                await not_heard(address, context)
                return
            async with aiohttp.ClientSession(address) as https:
                assert (await told(https.post("/translate", json=ASK, ssl=context)))[0] == 200

    run(scenario)


async def not_heard(address: str, context: ssl.SSLContext | None) -> None:
    async with aiohttp.ClientSession(address) as http:
        with pytest.raises((aiohttp.ClientError, ConnectionError, asyncio.IncompleteReadError)):
            await told(http.post("/translate", json=ASK, ssl=context if context else True))
