"""Reading of gRPC messages within the limits of the intake, for every method."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from google.rpc.code_pb2 import Code

from serving.api.intake import Intake
from serving.errors import Refusal, RefusedError, refusal
from serving.grpc.handlers import abort

Parse = Callable[[bytes], Any]
Handler = Any  # grpc.RpcMethodHandler, whose attributes the stubs lack


class Receiving(grpc.aio.ServerInterceptor):
    """Interceptor that makes each method read its own messages.

    gRPC itself reads the message of a unary method before it calls the method, without a limit of the number
    of such messages or of their time. It would answer a damaged one with UNKNOWN.
    """

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._bounded: dict[Handler, Handler] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler:
        """Return the limited form of the method, or None if there is no such method."""
        handler = await continuation(handler_call_details)
        if handler is not None and handler not in self._bounded:
            self._bounded[handler] = self._bound(handler)
        return self._bounded.get(handler)

    def _bound(self, handler: Handler) -> Handler:
        parse, response_serializer = handler.request_deserializer or bytes, handler.response_serializer
        if handler.unary_unary:
            one = self._one(handler.unary_unary, parse)
            return grpc.stream_unary_rpc_method_handler(one, response_serializer=response_serializer)
        if handler.unary_stream:
            many = self._one(handler.unary_stream, parse)
        else:
            many = self._many(handler.stream_stream, parse)
        return grpc.stream_stream_rpc_method_handler(many, response_serializer=response_serializer)

    def _one(self, method: Callable[[Any, Any], Awaitable[Any]], parse: Parse) -> Any:
        async def receive(_: Any, context: Any) -> Any:
            message = await self._message(context, parse)
            if message is grpc.aio.EOF:
                await abort(context, Refusal(Code.INVALID_ARGUMENT, "the request has no message"))
            with self._intake.running(context.peer()):
                return await method(message, context)

        return receive

    def _many(self, method: Callable[[Any, Any], AsyncIterator[Any]], parse: Parse) -> Any:
        async def receive(_: Any, context: Any) -> AsyncIterator[Any]:
            with self._intake.running(context.peer()):
                async for answer in method(self._messages(context, parse), context):
                    yield answer

        return receive

    async def _messages(self, context: Any, parse: Parse) -> AsyncIterator[Any]:
        while (message := await self._message(context, parse)) is not grpc.aio.EOF:
            yield message

    async def _message(self, context: Any, parse: Parse) -> Any:
        try:
            async with self._intake.arriving(context.peer()):
                content = await context.read()
            return content if content is grpc.aio.EOF else parse(content)
        except (RefusedError, DecodeError) as error:
            return await abort(context, refusal(error))
