"""Tokens: what a file of them may say, how it changes, and that none is ever told."""

import asyncio
import logging
import os
import socket
import struct
from pathlib import Path

import pytest

from serving.security.listening import Security
from serving.security.tokens import Tokens, authorization, read_tokens
from serving.security.watched_file import UnusableError
from tests.support.serving.certificates import Files, replace, secured
from tests.support.serving.echo import run


def test_a_file_has_a_token_a_line_and_comments(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_bytes(b"# for the front\r\nabc\r\n\r\n  d-._~+/e==  \n#f\n")
    assert read_tokens(path) == ["abc", "d-._~+/e=="]


@pytest.mark.parametrize(
    "line",
    [
        "zwei worte",
        "secret # mine",
        "clé",
        "a=b",
        "=",
        "a\x00b",
        "a,b",
        'a"b',
        "Bearer secret",
        b"\xff\xfe".decode("latin1"),
    ],
)
def test_what_no_header_can_say_is_no_token_and_its_line_is_told_but_not_what_it_says(
    line: str, tmp_path: Path
) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"# one\ngood\n{line}\n")
    with pytest.raises(UnusableError, match=f"^{path}, line 3 is not a token") as told:
        Tokens(path)
    assert line not in str(told.value).partition(";")[0]
    with pytest.raises(UnusableError, match=f"^the token of {len(line)} characters is malformed; ") as told:
        authorization(line)


@pytest.mark.parametrize("token", ["", "abc\n", " abc", "abc\r"])
def test_a_client_with_a_line_end_in_its_token_is_told_at_once(token: str) -> None:
    with pytest.raises(UnusableError, match=r"without white space$"):
        authorization(token)


def test_new_tokens_are_taken_old_ones_refused_and_a_broken_file_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    path = tmp_path / "tokens"
    replace(path, b"first-secret")
    tokens = Tokens(path)

    def accepted() -> list[str]:
        said = ["first-secret", "later-secret", "third-secret", "wrong-secret"]
        return [token for token in said if tokens.accepts(f"Bearer {token}")]

    assert accepted() == ["first-secret"]
    replace(path, b"first-secret\nlater-secret")
    assert accepted() == ["first-secret", "later-secret"]
    replace(path, b"later-secret")
    assert accepted() == ["later-secret"]
    for broken in (b"", b"# later-secret", b"third-secret\nwrong secret"):
        replace(path, broken)
        assert accepted() == ["later-secret"]
    path.unlink()
    assert accepted() == accepted() == ["later-secret"]
    path.mkdir()
    assert accepted() == ["later-secret"]
    path.rmdir()
    path.write_bytes(b"third-secret")  # written in place, another size
    assert accepted() == ["third-secret"]
    (tmp_path / "elsewhere").write_bytes(b"first-secret")
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    assert accepted() == ["first-secret"]
    failures = [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR]
    assert len(failures) == 5  # each is told once
    assert all(each.startswith(f"{path}: the former content stays in use: ") for each in failures)
    assert "-secret" not in caplog.text


#: HTTP/2 that no client of gRPC sends: a request with these bytes as its `authorization`.
ODD = [b"Bearer \xff\xfe\x00",
       b"Bearer secret\x00", b"Bearer secret\xc2\xa0", b"\x00Bearer secret", b"Bearer\tsecret",
       b"Bearer secret\r\nx: y", b"\xef\xbb\xbfBearer secret", b"Bearer \xef\xbd\x93ecret"]  # fmt: skip


def test_bytes_that_no_client_sends_are_not_heard_and_hurt_nobody(tmp_path: Path) -> None:
    security = Security.of(tokens=Files(tmp_path).tokens("secret"))

    async def scenario() -> None:
        async with secured(security) as address:
            for odd in ODD:
                assert not await asyncio.to_thread(answered, address, odd), odd
                assert await asyncio.to_thread(answered, address, b"Bearer secret")

    run(scenario)


def answered(address: str, authorization: bytes) -> bool:
    """Whether the server says more than how it ends."""
    host, _, port = address.rpartition(":")
    headers = [
        (b":method", b"POST"), (b":scheme", b"http"), (b":authority", b"localhost"), (b"te", b"trailers"),
        (b":path", b"/serving.v1.TranslationService/ListModels"), (b"content-type", b"application/grpc"),
        (b"authorization", authorization),
    ]  # fmt: skip
    block = b"".join(
        b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value for name, value in headers
    )
    end_stream, end_headers = 1, 4
    sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0) + frame(1, end_headers, 1, block)
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(sent + frame(0, end_stream, 1, bytes(5)))
        stream = connection.makefile("rb")
        while head := stream.read(9):
            size, kind, flags = int.from_bytes(head[:3]), head[3], head[4]
            stream.read(size)
            if kind == 0 and size:
                return True
            if kind in (3, 7) or (kind == 1 and flags & end_stream):
                return False
    return False


def frame(kind: int, flags: int, stream: int, content: bytes = b"") -> bytes:
    return struct.pack(">I", len(content))[1:] + struct.pack(">BBI", kind, flags, stream) + content


def test_a_token_file_that_becomes_a_pipe_keeps_nobody_waiting_and_the_tokens_stay(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "tokens"
    path.write_text("good\n")
    tokens = Tokens(path)
    path.unlink()
    os.mkfifo(path)
    assert tokens.accepts("Bearer good")
    assert f"{path} cannot be used: it must be a file" in caplog.text
    with pytest.raises(UnusableError, match="it must be a file, and is neither"):
        Tokens(path)


def test_a_token_file_is_bounded_and_its_length_changes_nothing_of_a_request(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text("".join(f"token-{number}\n" for number in range(50_000)))
    tokens = Tokens(path)
    assert tokens.accepts("Bearer token-49999")
    assert not tokens.accepts("Bearer token-50000")
    assert isinstance(tokens._digests.now(), set)  # nothing is gone through
    path.write_text("a" * (2**20 + 1))
    with pytest.raises(UnusableError, match="at most 1,048,576 bytes, and has 1,048,577"):
        Tokens(path)
