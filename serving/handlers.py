"""What gRPC calls: bytes in, the method of the service asked, every error told as a status."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager, aclosing
from functools import lru_cache
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message

from serving.errors import Refusal, RefusedError
from serving.front import Front
from serving.service import TranslationService
from serving.v1 import translation_pb2 as wire
from serving.visit import Visit

SERVICE = wire.DESCRIPTOR.services_by_name["TranslationService"].full_name

Context = grpc.aio.ServicerContext[bytes, Message]
Request = TypeVar("Request", bound=Message)
Answer = TypeVar("Answer")
Method = Callable[[Request, float | None], Answer]  # the seconds that are left
_CODES = {code.value[0]: code for code in grpc.StatusCode}


def handlers(service: TranslationService, front: Front) -> grpc.GenericRpcHandler:
    """They parse for themselves: gRPC would tell a damaged message as UNKNOWN, with Python's own words."""

    def visited(name: str, context: Context) -> AbstractContextManager[Visit]:
        return front.visited(name, "grpc", context.time_remaining(), _traceparent(context))

    def one(name: str, kind: type[Request], method: Method[Request, Awaitable[Message]]) -> Any:
        async def handle(message: bytes, context: Context) -> Message:
            try:
                with visited(name, context) as visit:
                    return await method(kind.FromString(message), visit.remaining)
            except RefusedError as error:
                return await abort(context, error.refusal)

        return grpc.unary_unary_rpc_method_handler(handle, response_serializer=_bytes)

    def many(name: str, kind: type[Request], method: Method[Request, AsyncGenerator[Message, None]]) -> Any:
        async def handle(message: bytes, context: Context) -> None:
            try:
                with visited(name, context) as visit:
                    asked = method(kind.FromString(message), visit.remaining)
                    async with aclosing(asked) as answers:
                        async for each in answers:
                            await _write(context, each)
            except RefusedError as error:
                await abort(context, error.refusal)

        return grpc.unary_stream_rpc_method_handler(handle, response_serializer=_bytes)

    methods = {
        "Translate": one("Translate", wire.TranslateRequest, service.translate),
        "BatchTranslate": one("BatchTranslate", wire.BatchTranslateRequest, service.batch_translate),
        "StreamTranslate": many("StreamTranslate", wire.StreamTranslateRequest, service.stream_translate),
        "Attend": one("Attend", wire.AttendRequest, service.attend),
        "ListModels": one("ListModels", wire.ListModelsRequest, service.list_models),
    }
    return grpc.method_handlers_generic_handler(SERVICE, methods)


def _bytes(message: Message) -> bytes:
    return message.SerializeToString()


async def _write(context: Context, message: Message) -> None:
    try:
        await context.write(message)
    except grpc.aio.InternalError as error:  # the caller has gone while it did not read
        raise asyncio.CancelledError from error


def _traceparent(context: Context) -> str:
    for name, value in context.invocation_metadata() or ():
        if name == "traceparent":
            return str(value)
    return ""


async def abort(context: Context, told: Refusal) -> Any:
    """End the call with this status."""
    await context.abort(_CODES[told.code], told.message, (("grpc-status-details-bin", _details(told)),))


def _details(told: Refusal) -> bytes:
    if told.retry_after is None:  # perhaps in the caller's words: it is not kept
        return told.status().SerializeToString()
    return _repeated(told)


@lru_cache  # a server that has too much to do says the same again and again
def _repeated(told: Refusal) -> bytes:
    return told.status().SerializeToString()
