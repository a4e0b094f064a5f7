"""Certificates that change while a server runs, for gRPC and for HTTP; and what clients make of theirs."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from serving import AsyncClient, Client, Retries, Tls, TranslationError
from serving.certificates import Certificates
from serving.security import Security
from serving.watched import UnusableError
from tests.serving.echo import run
from tests.serving.secured import Files, der, presented, replace, secured

ONCE = Retries(times=0)


async def rotated(files: Files, address: str, requests: int) -> None:
    """New certificates, among them a pair that does not fit, while connections old and new are used."""
    done = 0

    async def ask(client: AsyncClient) -> None:
        nonlocal done
        text = f"Où est la gare {done} ?"
        assert (await client.translate(text)).text == text
        done += 1

    async def keep_asking(until: int) -> None:
        while done < until:
            await ask(old)
            async with AsyncClient(address, tls=files.ca, retries=ONCE) as new:
                await ask(new)

    async with AsyncClient(address, tls=files.ca, retries=ONCE) as old:
        for turn in range(1, 6):
            async with asyncio.TaskGroup() as asking:
                for _ in range(4):
                    asking.create_task(keep_asking(turn * requests // 5))
                shown = await presented(address, files.ca)
                assert shown == der(files.server[0])
                if turn == 3:
                    replace(files.server[1], files.client[1].read_bytes())
                    assert await presented(address, files.ca) == shown
                files.issued("server", "localhost", "127.0.0.1")
                assert der(files.server[0]) != shown
                assert await presented(address, files.ca) == der(files.server[0])
        assert done >= requests


def test_certificates_change_under_load_and_nobody_is_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = Files(tmp_path)

    async def scenario() -> None:
        async with secured(Security.of(*files.server)) as address:
            await rotated(files, address, 100)

    run(scenario)
    broken = f"{files.server[1]} is not the key of {files.server[0]}: name two that belong together"
    assert broken in caplog.text


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_certificates_change_under_load_and_nobody_is_lost_in_full(tmp_path: Path) -> None:
    files = Files(tmp_path)

    async def scenario() -> None:
        async with secured(Security.of(*files.server)) as address:
            for _ in range(10):
                await rotated(files, address, 1000)

    asyncio.run(scenario())


def test_an_authority_that_is_replaced_vouches_for_nobody_any_more(tmp_path: Path) -> None:
    files = Files(tmp_path)
    security = Security.of(*files.server, files.ca)

    async def heard(address: str, own: tuple[Path, Path]) -> bool:
        async with AsyncClient(address, tls=Tls(tmp_path / "trusted.pem", *own), retries=ONCE) as client:
            try:
                return (await client.translate("a")).text == "a"
            except TranslationError as error:
                assert error.code is grpc.StatusCode.UNAVAILABLE
                return False

    async def scenario() -> None:
        replace(tmp_path / "trusted.pem", files.ca.read_bytes())  # what the client trusts stays
        async with secured(security) as address:
            assert [await heard(address, own) for own in (files.client, files.strange_client)] == [
                True,
                False,
            ]
            replace(files.ca, files.other_ca.read_bytes())
            assert [await heard(address, own) for own in (files.client, files.strange_client)] == [
                False,
                True,
            ]

    run(scenario)


@asynccontextmanager
async def spoken(certificates: Certificates) -> AsyncIterator[int]:
    """A server on asyncio, as that of HTTP is. -> its port"""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"heard")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=certificates.ssl_context())
    async with server:
        yield server.sockets[0].getsockname()[1]


def test_http_has_the_new_certificate_and_the_new_authority_too(tmp_path: Path) -> None:
    files = Files(tmp_path)

    async def scenario() -> None:
        for asks in (False, True):
            async with spoken(Certificates(*files.server, files.ca if asks else None)) as port:
                mine = ssl.create_default_context(cadata=files.authority.cert_pem.bytes().decode())
                mine.load_cert_chain(*files.client)
                strange = ssl.create_default_context(cadata=files.authority.cert_pem.bytes().decode())
                strange.load_cert_chain(*files.strange_client)
                assert [await connected(port, each) for each in (mine, strange)] == [
                    der(files.server[0]), None if asks else der(files.server[0]),
                ]  # fmt: skip
                files.issued("server", "localhost", "127.0.0.1")
                assert await connected(port, mine) == der(files.server[0])
                if asks:
                    replace(files.ca, files.other_ca.read_bytes())
                    assert [await connected(port, each) for each in (mine, strange)] == [
                        None, der(files.server[0]),
                    ]  # fmt: skip

    run(scenario)


async def connected(port: int, context: ssl.SSLContext) -> bytes | None:
    """What certificate was shown to whom was heard."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        try:
            return shown if await reader.read() == b"heard" else None
        finally:
            writer.close()
    except ssl.SSLError:
        return None


def test_a_key_with_a_password_is_refused_and_nobody_is_asked_for_it(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        PrivateFormat,
        load_pem_private_key,
    )

    files = Files(tmp_path)
    certificate, key = files.server
    plain: Any = load_pem_private_key(key.read_bytes(), None)
    secret = BestAvailableEncryption(b"password")
    key.write_bytes(plain.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, secret))
    with pytest.raises(UnusableError, match=f"^{key} is encrypted, and nobody is asked for a password"):
        Certificates(certificate, key)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_what_a_client_cannot_use_is_told_before_it_connects(
    kind: type[Client] | type[AsyncClient], tmp_path: Path
) -> None:
    files = Files(tmp_path)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"tls": tmp_path / "none"}, f"{tmp_path}/none cannot be read (No such file or directory)"),
        ({"tls": str(files.server[1])}, f"{files.server[1]} has no certificate of an authority: name a PEM"),
        ({"tls": Tls(certificate=files.client[0])}, "a client's certificate and its key are needed together"),
        ({"tls": Tls(files.ca, files.client[0], files.server[1])}, f"{files.server[1]} is not the key of "),
        (
            {"tls": Tls(files.ca, files.ca, files.ca)},
            f"{files.ca} and {files.ca} are no certificate and its key",
        ),
        ({"tls": 5}, "tls is True, the file of an authority, or Tls(...); got 5"),
        ({"token": "a b"}, "the token of 3 characters is none"),
    ]
    for settings, told in wrong:
        with pytest.raises(UnusableError) as error:
            kind("127.0.0.1:1", **settings)
        assert str(error.value).startswith(told)


def test_a_client_says_its_token_with_every_call_and_repeats_no_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files(tmp_path)
    monkeypatch.setattr("serving.client.time.sleep", None)  # what would be repeated fails
    security = Security.of(*files.server, files.ca, files.tokens("secret"))

    def talk(address: str) -> None:
        tls = Tls(files.ca, *files.client)
        with Client(address, token="secret", tls=tls) as client:
            assert client.translate("a").text == "a"
            assert [each.text for each in client.translate(["a", "b"])] == ["a", "b"]
            assert "".join(client.stream("a")) == "a"
            assert client.models().models
            assert not client.attend(" ").parts
        for token in (None, "wrong"):
            with Client(address, token=token, tls=tls) as client:
                for ask in (client.translate, lambda text: list(client.stream(text)), client.attend):
                    with pytest.raises(TranslationError, match=r"UNAUTHENTICATED: .*authorization: Bearer"):
                        ask("a")  # type: ignore[operator]

    async def scenario() -> None:
        async with secured(security) as address:
            await asyncio.to_thread(talk, address)
            async with AsyncClient(address, token="secret", tls=Tls(files.ca, *files.client)) as client:
                assert (await client.translate("a")).text == "a"
                assert [each.text for each in await client.translate(["a", "b"])] == ["a", "b"]
                assert "".join([each async for each in client.stream("a")]) == "a"
                assert (await client.models()).models
                assert not (await client.attend(" ")).parts

    run(scenario)
