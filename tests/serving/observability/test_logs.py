"""The log has a line for each request, for machines where that is asked for, and never what anybody wrote."""

import asyncio
import json
import logging
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from serving import Client, TranslationError
from serving.observability.logs import TEXT, Text
from tests.support.serving.serve_process import serving, serving_both
from tests.support.serving.unfinished_messages import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PREFACE,
    SETTINGS,
    TRANSLATE,
    frame,
    headers,
)

SECRET = "Jalousie"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


async def _post(http: str, head: str, body: str) -> bytes:
    host, _, port = http.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    content = body.encode()
    writer.write(
        f"{head}\r\nHost: {http}\r\nContent-Type: application/json\r\nConnection: close\r\n"
        f"traceparent: 00-{TRACE}-00f067aa0ba902b7-01\r\nContent-Length: {len(content)}\r\n\r\n".encode()
        + content
    )
    answer = await reader.read()
    writer.close()
    return answer


def ask(grpc: str, http: str) -> None:
    """In every way, well and badly."""
    with Client(grpc) as client:
        client.translate(f"{SECRET}.")
        client.translate([SECRET, SECRET, "\u200b"])  # the last says nothing, and waits for nothing
        "".join(client.stream(SECRET))
        client.attend(SECRET)
        with suppress(TranslationError):
            client.translate(SECRET, model=SECRET)
        with suppress(TranslationError):
            client.translate(SECRET * 5000)
    good = json.dumps({"q": SECRET})
    for head, body in (
        ("POST /translate HTTP/1.1", good),
        ("POST /translate/stream HTTP/1.1", good),
        ("POST /attention HTTP/1.1", good),
        ("POST /translate HTTP/1.1", json.dumps({"q": f"{SECRET}\ud800"})),
        ("POST /translate HTTP/1.1", json.dumps({SECRET: SECRET})),
        ("POST /translate HTTP/1.1", json.dumps({"q": SECRET, "model": SECRET})),
        ("POST /translate HTTP/1.1", f'{{"q": "{SECRET}'),
        (f"GET /{SECRET} HTTP/1.1", ""),
        (f"{SECRET}", SECRET),
        (f"GET /{SECRET} HTTP/9.9\r\n{SECRET}\0: a", ""),
    ):
        assert asyncio.run(_post(http, head, body)).startswith(b"HTTP/1.")


def ended(started: "subprocess.Popen[str]") -> list[str]:
    """-> what stderr had."""
    started.send_signal(signal.SIGTERM)
    _, err = started.communicate(timeout=60)
    assert started.returncode == 0, err
    assert SECRET.casefold() not in err.casefold()
    return err.splitlines()


def test_for_machines_each_line_is_an_object_and_has_no_text_of_anybody(exported: Path) -> None:
    with serving_both(exported, "--log-format", "json", "--log-level", "debug") as (started, grpc, http):
        ask(grpc, http)
        lines = [json.loads(line) for line in ended(started)]
    assert all({"time", "level", "logger"} <= line.keys() for line in lines)
    access = [line for line in lines if line["logger"] == "serving.access"]
    assert [(line["method"], line["protocol"], line["code"]) for line in access] == [
        ("Translate", "grpc", "OK"),
        ("BatchTranslate", "grpc", "OK"),
        ("StreamTranslate", "grpc", "OK"),
        ("Attend", "grpc", "OK"),
        ("Translate", "grpc", "NOT_FOUND"),
        ("Translate", "grpc", "INVALID_ARGUMENT"),
        ("Translate", "http", "OK"),
        ("StreamTranslate", "http", "OK"),
        ("Attend", "http", "OK"),
        ("Translate", "http", "INVALID_ARGUMENT"),
        ("Translate", "http", "INVALID_ARGUMENT"),
        ("Translate", "http", "NOT_FOUND"),
        ("Translate", "http", "INVALID_ARGUMENT"),
    ]
    first, batch, over_http = access[0], access[1], access[6]
    assert (first["model"], first["version"]) == ("fr-en", 1)
    assert 0 <= first["queue_ms"] <= first["ms"]
    assert first["source_tokens"] > 1
    assert first["target_tokens"] > 0
    assert "trace_id" not in first
    assert batch["source_tokens"] > first["source_tokens"]
    assert 0 <= batch["queue_ms"] <= batch["ms"]
    assert over_http["trace_id"] == TRACE


@pytest.mark.parametrize(("level", "lines"), [(None, 0), ("info", 13)])
def test_for_people_the_terminal_stays_calm_unless_they_want_it_all(
    exported: Path, level: str | None, lines: int
) -> None:
    options = () if level is None else ("--log-level", level)
    with serving_both(exported, *options) as (started, grpc, http):
        ask(grpc, http)
        told = ended(started)
    access = [line for line in told if " INFO serving.access: method=" in line]
    assert len(access) == lines
    assert len(told) == lines + 4  # what it serves, what opening it took, where the page is, and that it goes


def test_no_value_of_a_message_forges_a_line_of_the_log() -> None:
    forged = "fr-en\n2026-01-01 ERROR serving: all is lost\r\x1b[31m\u2028"
    record = logging.LogRecord("serving", logging.WARNING, "", 0, "%s is refused:\n  why", (forged,), None)
    line = Text(TEXT).format(record)
    written = r"fr-en\n2026-01-01 ERROR serving: all is lost\r\u001b[31m\u2028 is refused:\n  why"
    assert line.endswith(f"WARNING serving: {written}")
    assert line.isprintable()


def test_metadata_that_is_not_ascii_is_not_logged_since_a_token_may_be_in_it(exported: Path) -> None:
    token = b"Bearer 1c7022bb51d94e0a\x81"
    metadata = b"\0" + bytes([13]) + b"authorization" + bytes([len(token)]) + token
    with serving(exported) as (server, address):
        host, _, port = address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(
                PREFACE
                + frame(SETTINGS, 0, 0)
                + frame(HEADERS, END_HEADERS, 1, headers(TRANSLATE) + metadata)
                + frame(DATA, END_STREAM, 1, bytes(5))
            )
            received = b""
            while b"grpc-status" not in received and (more := connection.recv(65_536)):
                received += more
        with Client(address) as client:
            client.translate(f"{SECRET}.")
        server.send_signal(signal.SIGTERM)
        _, log = server.communicate(timeout=60)
    assert "1c7022bb51d94e0a" not in log
