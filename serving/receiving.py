"""How gRPC messages are read: under the bounds of the intake, whatever the method."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
from google.rpc.code_pb2 import Code

from serving.errors import Refusal, RefusedError
from serving.handlers import abort
from serving.intake import Intake

Handler = Any  # grpc.RpcMethodHandler: the stubs have no attributes of it


class Receiving(grpc.aio.ServerInterceptor):
    """Turns each method into one that reads its own messages.

    gRPC itself reads the message of a unary method before it calls the method, with a bound neither on the
    number of such messages nor on the time that they take.
    """

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._bounded: dict[Handler, Handler] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler:
        """Return the bounded form of the method, or None where there is no such method."""
        handler = await continuation(handler_call_details)
        if handler is not None and handler not in self._bounded:
            self._bounded[handler] = self._bound(handler)
        return self._bounded.get(handler)

    def _bound(self, handler: Handler) -> Handler:
        serializers = (handler.request_deserializer, handler.response_serializer)
        if handler.unary_unary:
            return grpc.stream_unary_rpc_method_handler(self._one(handler.unary_unary), *serializers)
        if handler.unary_stream:
            return grpc.stream_stream_rpc_method_handler(self._one(handler.unary_stream), *serializers)
        return grpc.stream_stream_rpc_method_handler(self._many(handler.stream_stream), *serializers)

    def _one(self, method: Callable[[Any, Any], Awaitable[Any]]) -> Any:
        async def receive(_: Any, context: Any) -> Any:
            message = await self._message(context)
            if message is grpc.aio.EOF:
                await abort(context, Refusal(Code.INVALID_ARGUMENT, "the request has no message"))
            with self._intake.running(context.peer()):
                return await method(message, context)

        return receive

    def _many(self, method: Callable[[Any, Any], AsyncIterator[Any]]) -> Any:
        async def receive(_: Any, context: Any) -> AsyncIterator[Any]:
            with self._intake.running(context.peer()):
                async for answer in method(self._messages(context), context):
                    yield answer

        return receive

    async def _messages(self, context: Any) -> AsyncIterator[Any]:
        while (message := await self._message(context)) is not grpc.aio.EOF:
            yield message

    async def _message(self, context: Any) -> Any:
        try:
            async with self._intake.arriving(context.peer()):
                return await context.read()
        except RefusedError as error:
            return await abort(context, error.refusal)
