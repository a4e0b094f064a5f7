"""Clients that send all of a large body but its last byte, and then wait: over HTTP/1.1 and over gRPC."""

import asyncio
import struct
from collections.abc import Iterator
from contextlib import suppress

METHOD = "/serving.v1.TranslationService/Translate"
SIZE = 4 * 2**20  # bytes of a body: the largest that the server takes
FRAME = 2**14  # bytes of a DATA frame
DATA, HEADERS, RESET, SETTINGS, GO_AWAY, WINDOW_UPDATE = 0, 1, 3, 4, 7, 8
ACKNOWLEDGED, END_HEADERS, INITIAL_WINDOW, LARGEST_STREAMS = 1, 4, 4, 3


async def post(address: str, size: int = SIZE) -> bytes:
    """Post an unfinished body over HTTP/1.1. Returns the status line of the answer; empty without one."""
    host, _, port = address.rpartition(":")
    try:
        reader, writer = await asyncio.open_connection(host, int(port))
    except OSError:
        return b""
    head = f"POST /translate HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {size}\r\n\r\n".encode() + b" " * (size - 1))
    status = b""
    with suppress(OSError):
        status = await reader.readline()
    await _abort(writer)
    return status


class Unfinished:
    """One HTTP/2 connection whose calls never end. It keeps to the windows that the server grants."""

    def __init__(self, address: str, streams: int, size: int = SIZE) -> None:
        """Call METHOD `streams` times with a message of `size` bytes."""
        self._address = address
        self._size = size
        self._left = {2 * number + 1: size - 1 for number in range(streams)}
        self._windows: dict[int, int] = {}
        self._window = 2**16 - 1
        self._initial = 2**16 - 1

    async def run(self) -> None:
        """Send what the windows allow until the server closes the connection."""
        host, _, port = self._address.rpartition(":")
        with suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0))
            try:
                while self._left:
                    kind, flags, stream, payload = await _read(reader)
                    self._take(kind, flags, stream, payload, writer)
                    for content in self._allowed():
                        writer.write(content)
                    await writer.drain()
            finally:
                await _abort(writer)

    def _take(self, kind: int, flags: int, stream: int, payload: bytes, writer: asyncio.StreamWriter) -> None:
        if kind == SETTINGS and not flags & ACKNOWLEDGED:
            settings = dict(struct.iter_unpack(">HI", payload))
            self._initial = settings.get(INITIAL_WINDOW, self._initial)
            most = settings.get(LARGEST_STREAMS, len(self._left))
            self._left = dict(list(self._left.items())[:most])
            self._windows = dict.fromkeys(self._left, self._initial)
            writer.write(frame(SETTINGS, ACKNOWLEDGED, 0))
            for number in self._left:
                prefix = b"\0" + struct.pack(">I", self._size - 5)
                writer.write(frame(HEADERS, END_HEADERS, number, BLOCK) + frame(DATA, 0, number, prefix))
                self._spend(number, len(prefix))
        elif kind == WINDOW_UPDATE:
            (granted,) = struct.unpack(">I", payload)
            if stream:
                self._windows[stream] = self._windows.get(stream, 0) + granted
            else:
                self._window += granted
        elif kind == RESET:
            self._left.pop(stream, None)

    def _allowed(self) -> Iterator[bytes]:
        for number in list(self._left):
            while (size := min(self._left[number], self._windows[number], self._window, FRAME)) > 0:
                self._spend(number, size)
                yield frame(DATA, 0, number, b" " * size)

    def _spend(self, number: int, size: int) -> None:
        self._left[number] -= size
        self._windows[number] -= size
        self._window -= size


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame as RFC 9113 has it."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


async def _abort(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()  # with what was not sent yet
    with suppress(OSError):
        await writer.wait_closed()


async def _read(reader: asyncio.StreamReader) -> tuple[int, int, int, bytes]:
    head = await reader.readexactly(9)
    kind, flags, stream = struct.unpack(">BBI", head[3:])
    return kind, flags, stream & 0x7FFFFFFF, await reader.readexactly(int.from_bytes(head[:3], "big"))


def _literal(name: str, value: str) -> bytes:
    return b"\0" + b"".join(bytes([len(each)]) + each.encode() for each in (name, value))


BLOCK = b"".join(
    _literal(name, value)
    for name, value in {
        ":method": "POST",
        ":scheme": "http",
        ":path": METHOD,
        ":authority": "127.0.0.1",
        "content-type": "application/grpc",
        "te": "trailers",
    }.items()
)
