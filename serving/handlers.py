"""What gRPC calls: bytes in, the method of the service asked, every error told as a status."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message

from serving.door import Door
from serving.errors import refusal
from serving.service import TranslationService
from serving.v1 import translation_pb2 as wire

SERVICE = wire.DESCRIPTOR.services_by_name["TranslationService"].full_name

Context = grpc.aio.ServicerContext[bytes, Message]
Request = TypeVar("Request", bound=Message)
Answer = TypeVar("Answer")
Method = Callable[[Request, float | None], Answer]  # the seconds that are left
_CODES = {code.value[0]: code for code in grpc.StatusCode}


def handlers(service: TranslationService, door: Door) -> grpc.GenericRpcHandler:
    """They parse for themselves: gRPC would tell a damaged message as UNKNOWN, with Python's own words."""

    def one(kind: type[Request], method: Method[Request, Awaitable[Message]]) -> Any:
        async def handle(message: bytes, context: Context) -> Message:
            try:
                with door.entered():
                    return await method(kind.FromString(message), context.time_remaining())
            except Exception as error:
                return await _abort(context, error)

        return grpc.unary_unary_rpc_method_handler(handle, response_serializer=_bytes)

    def many(kind: type[Request], method: Method[Request, AsyncGenerator[Message, None]]) -> Any:
        async def handle(message: bytes, context: Context) -> None:
            try:
                with door.entered():
                    asked = method(kind.FromString(message), context.time_remaining())
                    async with aclosing(asked) as answers:
                        async for each in answers:
                            await context.write(each)
            except grpc.aio.InternalError as error:  # of the write: the caller has gone while it did not read
                raise asyncio.CancelledError from error
            except Exception as error:
                await _abort(context, error)

        return grpc.unary_stream_rpc_method_handler(handle, response_serializer=_bytes)

    methods = {
        "Translate": one(wire.TranslateRequest, service.translate),
        "BatchTranslate": one(wire.BatchTranslateRequest, service.batch_translate),
        "StreamTranslate": many(wire.StreamTranslateRequest, service.stream_translate),
        "Attend": one(wire.AttendRequest, service.attend),
        "ListModels": one(wire.ListModelsRequest, service.list_models),
    }
    return grpc.method_handlers_generic_handler(SERVICE, methods)


def _bytes(message: Message) -> bytes:
    return message.SerializeToString()


async def _abort(context: Context, error: Exception) -> Any:
    told = refusal(error)
    details = ("grpc-status-details-bin", told.status().SerializeToString())
    await context.abort(_CODES[told.code], told.message, (details,))
