"""Who pings to keep a connection alive, as balancers do: heard on, unless it is too often."""

import asyncio
import struct
from typing import Any

from serving.limits import Limits
from serving.server import PINGS, Server
from tests.support.serving.echo import run

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS, PING, GOAWAY = 4, 6, 7
ACK = 1


def frame(kind: int, content: bytes = b"") -> bytes:
    """Of HTTP/2, of the whole connection: its length in 3 bytes, kind, flags, stream 0."""
    return struct.pack("!I", len(content))[1:] + bytes([kind, 0]) + bytes(4) + content


async def answered(
    kind: int, content: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> str:
    """-> why the connection is closed, or nothing if the frame is acknowledged."""
    writer.write(frame(kind, content))
    while True:
        head = await reader.readexactly(9)
        told = await reader.readexactly(int.from_bytes(head[:3], "big"))
        if head[3] == GOAWAY:
            return told[8:].decode()
        if head[3] == kind and head[4] == ACK:
            return ""


async def ping(*connection: Any) -> str:
    """The same; a ping too many is acknowledged as well, so that something else is asked behind it."""
    return await answered(PING, b"8 bytes.", *connection) or await answered(SETTINGS, b"", *connection)


def test_who_pings_every_five_seconds_while_it_asks_nothing_is_not_cut_off_and_who_floods_is() -> None:
    """gRPC forgives two pings that come too early. They are spent first, so that the next one decides."""

    async def scenario() -> None:
        server = Server(Limits())
        port = await server.start("127.0.0.1", 0)
        try:
            _, writer = connection = await asyncio.open_connection("127.0.0.1", port)
            writer.write(PREFACE)
            assert await answered(SETTINGS, b"", *connection) == ""
            assert [await ping(*connection) for _ in range(3)] == [""] * 3
            await asyncio.sleep(PINGS / 1000 + 0.1)
            assert await ping(*connection) == ""
            while not (told := await ping(*connection)):
                pass
            assert told == "too_many_pings"
            writer.close()
        finally:
            await server.drain(0)

    run(scenario)
