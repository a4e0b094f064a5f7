"""gRPC with an engine behind it and nothing else, neither text nor limits: no front can be below that."""

import asyncio
from collections.abc import Iterable

import grpc

from keras_transformer.inference.request import Request
from serving.grpc.handlers import SERVICE
from serving.registry.served_version import ServedVersion
from serving.v1 import translation_pb2 as wire


async def start_bare(model: ServedVersion, texts: Iterable[str]) -> tuple[grpc.aio.Server, int]:
    """-> the server, which knows the ids of these texts and answers with nothing, and its port."""
    loop = asyncio.get_running_loop()
    known = {text: model.requests([text])[0] for text in texts}

    async def translate(message: bytes, context: object) -> bytes:
        asked = known[wire.TranslateRequest.FromString(message).text]
        ended = asyncio.Event()
        model.engine.submit(
            Request(
                asked.source,
                asked.max_tokens,
                on_end=lambda _: loop.call_soon_threadsafe(ended.set),
            )
        )
        await ended.wait()
        return b""

    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    methods = {"Translate": grpc.unary_unary_rpc_method_handler(translate)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    return server, port
