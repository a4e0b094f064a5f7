"""Who is turned away, and how: errors are JSON, and every answer has the headers."""

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator
from io import BytesIO

import aiohttp
import pytest

from serving.api import intake
from serving.http.listener import Site
from serving.http.middleware import HEADERS
from serving.limits import Limits
from serving.registry.registry import Registry
from tests.support.serving.echo import echo, run
from tests.support.serving.http_site import exchanged, refused, sent, site, started, told

EVIL = "<script>alert(1)</script>"
POST = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
ASK = {"q": "Bonjour."}


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % EVIL.encode(), 404),
        (b"GET /static/../../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET /static/%2e%2e%2fserving%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET /a\0b HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 9000 + b"\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 200 + b"\r\n", 400),
        (b"%s\r\n\r\n" % EVIL.encode(), 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"DELETE /translate HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        (b"GET /translate HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        (POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", 400),
        (POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (POST + b'Content-Length: 5\r\n\r\n{"q":', 400),
        (POST + b"Content-Length: 2\r\n\r\n\xff\xfe", 400),
        (POST + b"Content-Length: 5\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08ab", 415),
    ],
)
def test_whatever_is_sent_the_answer_is_json_with_the_headers(content: bytes, status: int) -> None:
    async def scenario() -> None:
        async with site() as http:
            found, headers, body = await sent(http, content)
            assert found == status
            assert headers["content-type"].startswith("application/json")
            assert list(json.loads(body)) == ["error"]
            assert b"script" not in body
            for name, value in HEADERS.items():
                assert headers[name.lower()] == value.lower()
            assert "access-control-allow-origin" not in headers

    run(scenario)


def test_a_text_that_looks_like_a_page_or_a_header_is_json_and_nothing_else() -> None:
    async def scenario() -> None:
        async with site() as http:
            text = f"{EVIL}\r\nSet-Cookie: a=b\r\n\r\n{EVIL}\0"
            async with http.post("/translate", json={"q": text}) as response:
                assert (await response.json())["translatedText"] == text
                assert response.content_type == "application/json"
                assert "Set-Cookie" not in response.headers
                for name, value in HEADERS.items():
                    assert response.headers[name] == value
            async with http.post(
                "/translate/stream", json={"q": "Merci !\nevent: done\ndata: {}"}
            ) as response:
                assert (await response.text()).count("event: done\n") == 1
                assert response.headers["X-Content-Type-Options"] == "nosniff"

    run(scenario)


@pytest.mark.parametrize("over", [0, 1])
def test_a_body_has_as_many_bytes_as_a_message_may(over: int) -> None:
    async def scenario() -> None:
        async with site(limits=Limits(message_bytes=1000)) as http:
            body = json.dumps(ASK).ljust(1000 + over)
            call = http.post("/translate", data=body, headers={"Content-Type": "application/json"})
            if over:
                assert "the limit is 1,000 bytes" in await refused(call, 413)
            else:
                assert (await told(call))[0] == 200

    run(scenario)


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "SECONDS", 0.1)

    async def scenario() -> None:
        async with site() as http:
            status, _, body = await sent(http, POST + b"Content-Length: 100\r\n\r\n{")
            assert status == 408
            assert "did not arrive within 0.1 s" in json.loads(body)["error"]

    run(scenario)


@pytest.mark.parametrize(
    ("kind", "most"), [("application/json", 2**20), ("application/x-www-form-urlencoded", 2**18)]
)
@pytest.mark.parametrize("announced", [True, False])
def test_a_body_is_far_smaller_than_a_message_of_grpc(kind: str, most: int, announced: bool) -> None:
    async def scenario() -> None:
        async with site() as http:
            content = b"q=" + b"a" * most

            async def pieces() -> AsyncIterator[bytes]:
                yield content

            call = http.post(
                "/translate", data=BytesIO(content) if announced else pieces(), headers={"Content-Type": kind}
            )
            assert f"{most:,} bytes" in await refused(call, 413)

    run(scenario)


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data; boundary=a", ""])
@pytest.mark.parametrize("place", ["/translate", "/translate/stream", "/attention"])
def test_what_a_form_of_another_page_can_send_is_no_json(place: str, kind: str) -> None:
    async def scenario() -> None:
        async with site() as http:
            headers = {"Content-Type": kind}
            await refused(http.post(place, data=json.dumps(ASK), headers=headers), 415)
            if place != "/translate":
                await refused(http.post(place, data=ASK), 415)

    run(scenario)


@pytest.mark.parametrize("place", ["/translate", "/translate/stream", "/attention"])
def test_pages_of_other_origins_may_not_post(place: str, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with site() as http:
            own = str(http._base_url).rstrip("/")
            for origin in (
                "http://evil.example", "null", "http://127.0.0.1:1", f"{own}.evil.example", "",
                "http://[", "http://[x]", "http://a\u2100",
            ):  # fmt: skip
                await refused(http.post(place, json=ASK, headers={"Origin": origin}), 403)
            status, _ = await told(http.post("/translate", json=ASK, headers={"Origin": own}))
            assert status == 200

    run(scenario)
    assert not caplog.records


def test_connections_that_nobody_has_accepted_yet_are_answered_when_a_listener_closes() -> None:
    async def answer(request: aiohttp.web.Request) -> aiohttp.web.Response:
        return aiohttp.web.Response(status=503)

    async def scenario() -> None:
        application = aiohttp.web.Application()
        application.router.add_get("/", answer)
        listener = Site(application, 100)
        address = "127.0.0.1", await listener.start("127.0.0.1", 0)
        waiting = [
            socket.create_connection(address, timeout=10) for _ in range(20)
        ]  # the event loop has no turn
        for connection in waiting:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await listener.refuse(10)
        for connection in waiting:
            assert (await asyncio.to_thread(connection.recv, 100)).startswith(b"HTTP/1.1 503")
            connection.close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
        await listener.stop()

    run(scenario)


def test_a_port_that_is_taken_is_told_with_what_to_do() -> None:
    async def scenario() -> None:
        async with site() as http:
            url = http._base_url
            assert url is not None
            second = Site(aiohttp.web.Application(), 10)
            with pytest.raises(OSError, match=f"127.0.0.1:{url.port}.* choose another --http-port"):
                await second.start("127.0.0.1", url.port or 0)
            await second.stop()

    run(scenario)


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nExpect: %s\r\n\r\n" % EVIL.encode(), 417),
        (b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nExpect: %s\r\n\r\n" % EVIL.encode(), 417),
        (b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", 505),
        (b"GET / HTTP/0.9\r\nHost: localhost\r\n\r\n", 505),
        (POST.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
        (b"\0\r\n\r\n", 400),
    ],
)
def test_what_http_11_does_not_have_is_refused_and_no_answer_tells_versions_or_repeats_what_was_sent(
    content: bytes, status: int
) -> None:
    async def scenario() -> None:
        async with site() as http:
            found, headers, body = await sent(http, content)
            assert (found, headers["server"]) == (status, "keras-transformer")
            assert EVIL.encode() not in body

    run(scenario)


@pytest.mark.parametrize("garbage", [b"\0\x01\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\r\nrubbish\r\n\r\n"])
def test_malformed_bytes_behind_requests_are_refused_after_their_answers(garbage: bytes) -> None:
    body = b'{"q": "Bonjour."}'
    requests = POST + b"Content-Length: %d\r\n\r\n" % len(body) + body
    requests += b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

    async def scenario() -> None:
        async with site() as http:
            answers = await exchanged(http, requests + garbage)
            assert re.findall(rb"HTTP/1.[01] (\d+)", answers) == [b"200", b"200", b"400"]
            assert b'"translatedText": "Bonjour."' in answers

    run(scenario)


@pytest.mark.parametrize("version", [b"2.0", b"0.9"])
def test_a_refused_version_of_http_is_answered_in_one_that_exists(version: bytes) -> None:
    async def scenario() -> None:
        async with site() as http:
            answer = await exchanged(http, b"GET / HTTP/%s\r\nHost: localhost\r\n\r\n" % version)
            assert answer.startswith(b"HTTP/1.1 505 ")

    run(scenario)


def test_where_all_connections_are_taken_the_idle_ones_make_room_and_the_log_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        async def hello(request: aiohttp.web.Request) -> aiohttp.web.Response:
            return aiohttp.web.Response(text="hello")

        application = aiohttp.web.Application()
        application.router.add_get("/", hello)
        few = Site(application, max_connections=4)
        port = await few.start("127.0.0.1", 0)
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(12)]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await reader.readuntil(b" OK") == b"HTTP/1.1 200 OK"
        assert [await each.read() for each, _ in idle[:9]] == [b""] * 9  # they were closed
        for _, each in [*idle, (reader, writer)]:
            each.close()
        await few.stop()

    run(scenario)
    (record,) = caplog.records
    assert "all 4 HTTP connections" in record.getMessage()
    assert "ulimit -n" in record.getMessage()


def test_while_a_server_goes_each_answer_ends_its_connection() -> None:
    async def scenario() -> None:
        async with started() as (server, http):
            await server.open(Registry([echo("fr-en", 3)]))
            async with http.get("/languages") as response:
                assert "Connection" not in response.headers
            assert server._http is not None
            server._http.leave()
            for path in ("/languages", "/nothing"):
                async with http.get(path) as response:
                    assert response.headers["Connection"] == "close"

    run(scenario)
