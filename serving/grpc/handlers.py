"""Handlers of the RPCs: parse bytes, call a method of the service, convert every error to a status."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import lru_cache
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message

from serving.api.context import CallContext
from serving.api.gate import Gate
from serving.api.service import TranslationService
from serving.errors import Refusal, RefusedError
from serving.v1 import translation_pb2 as wire

SERVICE = wire.DESCRIPTOR.services_by_name["TranslationService"].full_name

Context = grpc.aio.ServicerContext[bytes, Message]
Request = TypeVar("Request", bound=Message)
Answer = TypeVar("Answer")
Method = Callable[[Request, CallContext], Answer]
_CODES = {code.value[0]: code for code in grpc.StatusCode}


def handlers(service: TranslationService, gate: Gate) -> grpc.GenericRpcHandler:
    """Return the handlers of all RPCs.

    They parse the messages themselves, because gRPC reports a damaged message as UNKNOWN, with Python's error
    text.

    Args:
        service: The service.
        gate: The gate that every call passes first.
    """

    def one(name: str, kind: type[Request], method: Method[Request, Awaitable[Message]]) -> Any:
        async def handle(message: bytes, context: Context) -> Message:
            try:
                headers = context.invocation_metadata() or ()
                with gate.call(name, "grpc", context.time_remaining(), headers) as call:
                    return await method(kind.FromString(message), call)
            except RefusedError as error:
                await gate.released()
                return await abort(context, error.refusal)

        return grpc.unary_unary_rpc_method_handler(handle, response_serializer=_bytes)

    def many(name: str, kind: type[Request], method: Method[Request, AsyncGenerator[Message, None]]) -> Any:
        async def handle(message: bytes, context: Context) -> None:
            try:
                headers = context.invocation_metadata() or ()
                with gate.call(name, "grpc", context.time_remaining(), headers) as call:
                    async with aclosing(method(kind.FromString(message), call)) as responses:
                        async for response in responses:
                            await _write(context, response)
            except RefusedError as error:
                await gate.released()
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
    except grpc.aio.InternalError as error:  # the caller left without reading
        raise asyncio.CancelledError from error


async def abort(context: Context, refused: Refusal) -> Any:
    """End a call with the status of a refusal."""
    details = (("grpc-status-details-bin", _details(refused)),)
    await context.abort(_CODES[refused.code], refused.message, details)


def _details(refused: Refusal) -> bytes:
    if refused.retry_after is None:  # not cached: its text may quote the request
        return refused.status().SerializeToString()
    return _cached_details(refused)


@lru_cache  # an overloaded server sends the same refusal many times
def _cached_details(refused: Refusal) -> bytes:
    return refused.status().SerializeToString()
