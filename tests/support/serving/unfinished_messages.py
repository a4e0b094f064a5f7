"""An attacker that speaks HTTP/2 by hand: messages that begin, are nearly sent, and never end."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE = 0, 1, 3, 4, 6, 8
END_STREAM = ACK = 1
END_HEADERS = 4
FRAME = 2**14
TRANSLATE = "/serving.v1.TranslationService/Translate"
HEALTH = "/grpc.health.v1.Health/Check"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"


def frame(kind: int, flags: int, stream: int, content: bytes = b"") -> bytes:
    return struct.pack("!I", len(content))[1:] + bytes([kind, flags]) + struct.pack("!I", stream) + content


def headers(path: str) -> bytes:
    """Of a call, each as a literal that is not indexed."""
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": path,
        ":authority": "localhost",
        "te": "trailers",
        "content-type": "application/grpc",
    }
    return b"".join(
        b"\0" + b"".join(bytes([len(each)]) + each.encode() for each in field) for field in fields.items()
    )


class Connection:
    """Keeps to flow control, so that only what the server lets it send is sent."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._window = {0: 2**16 - 1}
        self._initial = 2**16 - 1
        self._changed = asyncio.Event()
        self.ended: set[int] = set()  # streams that the server has ended
        self.max_streams: int | None = None

    async def send_unfinished(self, stream: int, path: str, size: int) -> None:
        """Send all of a message of this size but its last byte, or what the server takes of it."""
        self._window[stream] = self._initial
        self._writer.write(frame(HEADERS, END_HEADERS, stream, headers(path)))
        message = memoryview(b"\0" + struct.pack("!I", size) + bytes(size - 1))  # whose slices copy nothing
        while message and stream not in self.ended:
            count = min(FRAME, self._window[stream], self._window[0], len(message))
            if count <= 0:
                self._changed.clear()
                await self._changed.wait()
                continue
            self._window[stream] -= count
            self._window[0] -= count
            self._writer.write(frame(DATA, 0, stream, message[:count]))
            message = message[count:]
            await self._writer.drain()

    async def listen(self) -> None:
        """Read the server's frames until the connection ends."""
        while True:
            head = await self._reader.readexactly(9)
            kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
            content = await self._reader.readexactly(int.from_bytes(head[:3], "big"))
            if kind == SETTINGS and not flags & ACK:
                self._settle(content)
                self._writer.write(frame(SETTINGS, ACK, 0))
            elif kind == WINDOW_UPDATE:
                self._window[stream] = self._window.get(stream, self._initial) + int.from_bytes(
                    content, "big"
                )
            elif kind == PING and not flags & ACK:
                self._writer.write(frame(PING, ACK, 0, content))
            elif kind == RST_STREAM or (kind == HEADERS and flags & END_STREAM):
                self.ended.add(stream)
            self._changed.set()

    def _settle(self, settings: bytes) -> None:
        for name, value in struct.iter_unpack("!HI", settings):
            if name == 3:
                self.max_streams = value
            elif name == 4:
                for stream in self._window.keys() - {0}:
                    self._window[stream] += value - self._initial
                self._initial = value


@asynccontextmanager
async def unfinished(
    port: int, connections: int, streams: int, path: str = TRANSLATE, size: int = 2**22 - 5
) -> AsyncIterator[list[Connection]]:
    """So many connections; each sends so many unfinished messages, all at the same time."""
    opened, writers = [], []
    async with asyncio.TaskGroup() as group:
        tasks = []
        for _ in range(connections):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(PREFACE + frame(SETTINGS, 0, 0))
            connection = Connection(reader, writer)
            tasks.append(group.create_task(_until_cut_off(connection)))
            tasks += [
                group.create_task(connection.send_unfinished(2 * number + 1, path, size))
                for number in range(streams)
            ]
            opened.append(connection)
            writers.append(writer)
        yield opened
        for task in tasks:
            task.cancel()
    for writer in writers:
        writer.close()


async def _until_cut_off(connection: Connection) -> None:
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        await connection.listen()
