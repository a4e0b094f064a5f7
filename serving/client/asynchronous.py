"""The client for an event loop."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, Self, TypeVar, Unpack, overload

import grpc

from serving.client.calls import (
    Attempts,
    ClientClosedError,
    Options,
    TextBatch,
    TranslationError,
    batches,
    failure,
    until_closed,
)
from serving.client.connection import Connection
from serving.v1 import translation_pb2 as wire

Answer = TypeVar("Answer")


class AsyncClient(Connection):
    """A client for one event loop; otherwise as `serving.Client`, with the same arguments."""

    _grpc, _event = grpc.aio, asyncio.Event

    @overload
    async def translate(self, text: str, **options: Unpack[Options]) -> wire.Translation: ...

    @overload
    async def translate(
        self, text: list[str] | tuple[str, ...], **options: Unpack[Options]
    ) -> list[wire.Translation]: ...

    async def translate(
        self, text: str | list[str] | tuple[str, ...], **options: Unpack[Options]
    ) -> wire.Translation | list[wire.Translation]:
        """Translate a text, or a list of texts in its order.

        Args:
            text: The text, or texts.
            options: Fields of wire.Options by name, as model="fr-en" or scores=True.

        Raises:
            TranslationError: The call, or one of the texts, failed for good.
        """
        chosen = wire.Options(**options)
        if not isinstance(text, str):
            return [answer for batch in batches(text, chosen) for answer in await self._batch(batch)]
        request = wire.TranslateRequest(text=text, options=chosen)
        return (await self._repeated(self._stub.Translate, request)).translation

    async def stream(self, text: str, **options: Unpack[Options]) -> AsyncIterator[str]:
        """Yield the translation piece by piece; the call is repeated only before the first piece.

        Raises:
            TranslationError: The call failed for good.
        """
        request = wire.StreamTranslateRequest(text=text, options=wire.Options(**options))
        attempts = Attempts(self._retries, self._timeout)
        with until_closed(self._closed.is_set):
            while True:
                call = self._stub.StreamTranslate(request, timeout=attempts.left(), metadata=self._headers)
                try:
                    async for response in call:
                        if response.text:
                            attempts.begun = True
                            yield response.text
                    return
                except grpc.RpcError as error:
                    pause = attempts.pause(failure(error))
                finally:
                    call.cancel()  # the reader may have stopped before the end
                await self._wait(pause)

    async def attend(self, text: str, **options: Unpack[Options]) -> wire.AttendResponse:
        """Translate a text, and return all attention weights as well.

        Raises:
            TranslationError: The call failed for good.
        """
        request = wire.AttendRequest(text=text, options=wire.Options(**options))
        return await self._repeated(self._stub.Attend, request)

    async def models(self) -> wire.ListModelsResponse:
        """Return the models and the limits of the server.

        Raises:
            TranslationError: The call failed for good.
        """
        return await self._repeated(self._stub.ListModels, wire.ListModelsRequest())

    async def close(self) -> None:
        """Close the connection; calls that are under way fail with ClientClosedError."""
        self._closed.set()
        await self._channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _batch(self, batch: TextBatch) -> list[wire.Translation]:
        async def call(texts: TextBatch, **options: Any) -> list[wire.Translation]:
            texts.take(await self._stub.BatchTranslate(texts.request(), **options))
            return texts.answers

        return await self._repeated(call, batch)

    async def _repeated(self, call: Callable[..., Awaitable[Answer]], request: Any) -> Answer:
        attempts = Attempts(self._retries, self._timeout)
        with until_closed(self._closed.is_set):
            while True:
                try:
                    return await call(request, timeout=attempts.left(), metadata=self._headers)
                except (grpc.RpcError, TranslationError) as error:
                    pause = attempts.pause(failure(error))
                await self._wait(pause)

    async def _wait(self, pause: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._closed.wait()
        if self._closed.is_set():
            raise ClientClosedError
