"""Certificates that change while a server runs, for gRPC and for HTTP; and what clients make of theirs."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from serving import AsyncClient, Client, Retries, Tls, TranslationError
from serving.security.certificates import Certificates
from serving.security.listening import Security
from serving.security.watched_file import UnusableError
from tests.support.serving.certificates import Files, der, presented, replace, secured
from tests.support.serving.echo import run

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
    broken = f"{files.server[1]} is not the key of {files.server[0]}; name two that belong together"
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
    callers = [knowing(files, own) for own in (files.client, files.strange_client, None)]

    async def shown(port: int) -> list[bytes | None]:
        return [await asyncio.to_thread(connected, port, each) for each in callers]

    async def scenario() -> None:
        async with spoken(Certificates(*files.server)) as port:
            assert await shown(port) == [der(files.server[0])] * 3
            files.issued("server", "localhost", "127.0.0.1")
            assert await shown(port) == [der(files.server[0])] * 3
        async with spoken(Certificates(*files.server, files.ca)) as port:
            assert await shown(port) == [der(files.server[0]), None, None]
            files.issued("server", "localhost", "127.0.0.1")
            assert await shown(port) == [der(files.server[0]), None, None]
            replace(files.ca, files.other_ca.read_bytes())
            assert await shown(port) == [None, der(files.server[0]), None]

    run(scenario)


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_who_was_heard_before_has_to_show_a_certificate_again(protocol: str, tmp_path: Path) -> None:
    files = Files(tmp_path)
    caller, sessions = knowing(files, files.client), list[ssl.SSLSession]()

    async def scenario() -> None:
        if protocol == "http":
            async with spoken(Certificates(*files.server, files.ca)) as port:
                await comes_twice(port)
        else:
            caller.set_alpn_protocols(["h2"])
            async with secured(Security.of(*files.server, files.ca)) as address:
                await comes_twice(int(address.rpartition(":")[2]))

    async def comes_twice(port: int) -> None:
        assert await asyncio.to_thread(connected, port, caller, sessions)
        replace(files.ca, files.other_ca.read_bytes())
        assert not await asyncio.to_thread(connected, port, caller, sessions)

    run(scenario)


def test_over_http_a_client_that_cannot_but_go_on_with_a_session_is_not_heard(tmp_path: Path) -> None:
    files = Files(tmp_path)
    caller = knowing(files, files.client)
    caller.maximum_version = ssl.TLSVersion.TLSv1_2  # where a server cannot but offer it

    async def scenario() -> None:
        async with spoken(Certificates(*files.server, files.ca)) as port:
            assert not await asyncio.to_thread(connected, port, caller)
        async with spoken(Certificates(*files.server)) as port:
            assert await asyncio.to_thread(connected, port, caller)

    run(scenario)


def knowing(files: Files, own: tuple[Path, Path] | None) -> ssl.SSLContext:
    """A client's, which trusts the server's first authority."""
    context = ssl.create_default_context(cadata=files.authority.cert_pem.bytes().decode())
    if own:
        context.load_cert_chain(*own)
    return context


def connected(
    port: int, context: ssl.SSLContext, sessions: list[ssl.SSLSession] | None = None
) -> bytes | None:
    """What certificate was shown to whom was heard; the last of the sessions is gone on with."""
    last = sessions[-1] if sessions else None
    try:
        with (
            socket.create_connection(("127.0.0.1", port), timeout=10) as raw,
            context.wrap_socket(raw, server_hostname="127.0.0.1", session=last) as connection,
        ):
            heard = bool(connection.recv(100))
            if heard and sessions is not None and connection.session:
                sessions.append(connection.session)
            return connection.getpeercert(binary_form=True) if heard else None
    except (ssl.SSLError, ConnectionError):
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
    with pytest.raises(UnusableError, match=f"^{key} is encrypted, which is not supported"):
        Certificates(certificate, key)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_what_a_client_cannot_use_is_told_before_it_connects(
    kind: type[Client] | type[AsyncClient], tmp_path: Path
) -> None:
    files = Files(tmp_path)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"tls": tmp_path / "none"}, f"{tmp_path}/none cannot be read (No such file or directory)"),
        ({"tls": str(files.server[1])}, f"{files.server[1]} has no certificate of an authority; name a PEM"),
        ({"tls": Tls(certificate=files.client[0])}, "a client's certificate and its key go together"),
        ({"tls": Tls(files.ca, files.client[0], files.server[1])}, f"{files.server[1]} is not the key of "),
        (
            {"tls": Tls(files.ca, files.ca, files.ca)},
            f"{files.ca} and {files.ca} are not a certificate and a key",
        ),
        ({"tls": 5}, "tls must be True, the file of an authority, or Tls(...); got 5"),
        ({"token": "a b"}, "the token of 3 characters is malformed"),
    ]
    for settings, told in wrong:
        with pytest.raises(UnusableError) as error:
            kind("127.0.0.1:1", **settings)
        assert str(error.value).startswith(told)


def test_a_client_says_its_token_with_every_call_and_repeats_no_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files(tmp_path)
    monkeypatch.setattr("serving.client.blocking.Client._wait", None)  # what would be repeated fails
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
