"""The blocking client."""

from collections.abc import Callable, Iterator
from threading import Event
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


class Client(Connection):
    """Blocking client, which any number of threads may share.

    A call that may succeed later is repeated, within `timeout` and `retries`. A list is sent in messages of
    at most 64 texts; both limits apply to each message.

    Args:
        target: host:port. The connection is made when it is needed, and again when it is lost.
        timeout: Seconds for a call with its repetitions; None for no limit.
        retries: How calls are repeated.
        token: Bearer token of each call.
        tls: True, the file of a certificate authority, or Tls; None for no encryption.

    Raises:
        UnusableError: If a certificate or the token cannot be used.

    Example:
        ```python
        with Client("127.0.0.1:50051") as client:
            print(client.translate("Je suis étudiant.", model="fr-en").text)
        ```
    """

    _grpc, _event = grpc, Event

    @overload
    def translate(self, text: str, **options: Unpack[Options]) -> wire.Translation: ...

    @overload
    def translate(
        self, text: list[str] | tuple[str, ...], **options: Unpack[Options]
    ) -> list[wire.Translation]: ...

    def translate(
        self, text: str | list[str] | tuple[str, ...], **options: Unpack[Options]
    ) -> wire.Translation | list[wire.Translation]:
        """Translate a text or a list of texts.

        Args:
            text: A text, or a list of texts.
            **options: Options of the request by name, such as model="fr-en" or scores=True.

        Returns:
            The translation of the text, or the translations of the texts in their order.

        Raises:
            TranslationError: If the call, or one of the texts, failed for good.
        """
        chosen = wire.Options(**options)
        if not isinstance(text, str):
            return [answer for batch in batches(text, chosen) for answer in self._batch(batch)]
        request = wire.TranslateRequest(text=text, options=chosen)
        return self._repeated(self._stub.Translate, request).translation

    def stream(self, text: str, **options: Unpack[Options]) -> Iterator[str]:
        """Translate a text, and yield the translation piece by piece.

        The call is repeated only before the first piece.

        Args:
            text: The text.
            **options: Options of the request by name.

        Yields:
            Pieces of the translation, which joined are the whole.

        Raises:
            TranslationError: If the call failed for good.
        """
        request = wire.StreamTranslateRequest(text=text, options=wire.Options(**options))
        attempts = Attempts(self._retries, self._timeout)
        with until_closed(self._closed.is_set):
            while True:
                call = self._stub.StreamTranslate(request, timeout=attempts.left(), metadata=self._headers)
                try:
                    for response in call:
                        if response.text:
                            attempts.begun = True
                            yield response.text
                    return
                except grpc.RpcError as error:
                    pause = attempts.pause(failure(error))
                finally:
                    call.cancel()  # the reader may have stopped before the end
                self._wait(pause)

    def attend(self, text: str, **options: Unpack[Options]) -> wire.AttendResponse:
        """Translate a text, and return all attention weights too.

        Args:
            text: The text.
            **options: Options of the request by name.

        Returns:
            The translation, its tokens, and the weights of every layer and head.

        Raises:
            TranslationError: If the call failed for good.
        """
        request = wire.AttendRequest(text=text, options=wire.Options(**options))
        return self._repeated(self._stub.Attend, request)

    def models(self) -> wire.ListModelsResponse:
        """Return the models and the limits of the server.

        Returns:
            Every model with its versions, their states and languages; and the limits.

        Raises:
            TranslationError: If the call failed for good.
        """
        return self._repeated(self._stub.ListModels, wire.ListModelsRequest())

    def close(self) -> None:
        """Close the connection; calls in progress fail with ClientClosedError."""
        self._closed.set()
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _batch(self, batch: TextBatch) -> list[wire.Translation]:
        def call(texts: TextBatch, **options: Any) -> list[wire.Translation]:
            texts.take(self._stub.BatchTranslate(texts.request(), **options))
            return texts.answers

        return self._repeated(call, batch)

    def _repeated(self, call: Callable[..., Answer], request: Any) -> Answer:
        attempts = Attempts(self._retries, self._timeout)
        with until_closed(self._closed.is_set):
            while True:
                try:
                    return call(request, timeout=attempts.left(), metadata=self._headers)
                except (grpc.RpcError, TranslationError) as error:
                    pause = attempts.pause(failure(error))
                self._wait(pause)

    def _wait(self, pause: float) -> None:
        if self._closed.wait(pause):
            raise ClientClosedError
