"""A server whose models say what they hear, asked over HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import grpc

from serving.limits import Limits
from serving.registry.registry import Registry
from serving.registry.served_version import ServedVersion
from serving.server import Server
from serving.v1.translation_pb2_grpc import TranslationServiceStub
from tests.support.serving.echo import echo


@asynccontextmanager
async def started(limits: Limits = Limits()) -> AsyncIterator[tuple[Server, aiohttp.ClientSession]]:  # noqa: B008
    """Not open yet; afterwards nothing of it is left."""
    async with _listening(limits) as (server, session, _):
        yield server, session


@asynccontextmanager
async def both(*models: ServedVersion) -> AsyncIterator[tuple[Any, aiohttp.ClientSession]]:
    """Open. -> gRPC's stub, HTTP."""
    async with _listening(Limits()) as (server, session, port):
        await server.open(Registry(list(models)))
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield TranslationServiceStub(channel), session


@asynccontextmanager
async def site(*models: ServedVersion, limits: Limits = Limits()) -> AsyncIterator[aiohttp.ClientSession]:  # noqa: B008
    async with started(limits) as (server, session):
        await server.open(Registry(list(models) or [echo("fr-en", 3)]))
        yield session


@asynccontextmanager
async def _listening(limits: Limits) -> AsyncIterator[tuple[Server, aiohttp.ClientSession, int]]:
    server = Server(limits)
    grpc_port = await server.start("127.0.0.1", 0)
    port = await server.start_http("127.0.0.1", 0)
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
            yield server, session, grpc_port
    finally:
        await server.drain(0)


async def told(answer: Any) -> tuple[int, Any]:
    """-> status, JSON."""
    async with answer as response:
        assert response.content_type == "application/json"
        return response.status, await response.json()


async def refused(answer: Any, status: int) -> str:
    """-> why."""
    found, content = await told(answer)
    assert (found, list(content)) == (status, ["error"])
    return content["error"]


async def events(response: aiohttp.ClientResponse) -> AsyncIterator[tuple[str, Any]]:
    """As they come."""
    while kind := (await response.content.readline()).decode():
        data = (await response.content.readline()).decode()
        assert (kind[:7], data[:6], await response.content.readline()) == ("event: ", "data: ", b"\n")
        yield kind[7:-1], json.loads(data[6:])


async def exchanged(session: aiohttp.ClientSession, content: bytes) -> bytes:
    """Bytes as they are. -> all that is answered before the server closes the connection."""
    url = session._base_url
    assert url is not None
    reader, writer = await asyncio.open_connection(url.host, url.port)
    try:
        writer.write(content)
        return await reader.read()
    finally:
        writer.close()


async def sent(session: aiohttp.ClientSession, content: bytes) -> tuple[int, dict[str, str], bytes]:
    """Bytes as they are. -> status, headers, body of the first answer."""
    url = session._base_url
    assert url is not None
    reader, writer = await asyncio.open_connection(url.host, url.port)
    try:
        writer.write(content)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        return int(head[0].split()[1]), headers, await reader.readexactly(int(headers["content-length"]))
    finally:
        writer.close()
