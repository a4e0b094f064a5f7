"""A client that blocks. One may be shared by threads."""

from collections.abc import Callable, Iterator
from threading import Event
from types import TracebackType
from typing import Self, TypeVar, Unpack, overload

import grpc

from serving.client.calls import (
    CHANNEL,
    Attempts,
    ClientClosedError,
    Options,
    Retries,
    TextBatch,
    TranslationError,
    batches,
    failure,
    until_closed,
)
from serving.client.tls import File, Tls, credentials
from serving.security.tokens import authorization
from serving.v1 import translation_pb2 as wire
from serving.v1.translation_pb2_grpc import TranslationServiceStub

Answer = TypeVar("Answer")


class Client:
    """Calls that may pass are repeated, until `timeout` seconds are over or `retries` are used up.

    A list goes in messages of at most 64 texts, and both hold for each of them.

    What fails for good is a TranslationError. Options go by their names: model="fr-en", scores=True ...
    """

    def __init__(
        self,
        target: str,
        timeout: float | None = 60.0,
        retries: Retries = Retries(),  # noqa: B008
        token: str | None = None,
        tls: Tls | File | bool | None = None,
    ) -> None:
        """`target` is host:port. A connection is made when it is needed, and again when it is lost.

        `tls` is True, the file of an authority, or Tls; None is in clear. `token` goes with each call.
        """
        self._known = None if token is None else (("authorization", authorization(token)),)
        secure = credentials(tls)
        self._channel = (
            grpc.secure_channel(target, secure, options=CHANNEL)
            if secure
            else grpc.insecure_channel(target, options=CHANNEL)
        )
        self._stub = TranslationServiceStub(self._channel)
        self._timeout = timeout
        self._retries = retries
        self._closed = Event()

    @overload
    def translate(self, text: str, **options: Unpack[Options]) -> wire.Translation: ...

    @overload
    def translate(
        self, text: list[str] | tuple[str, ...], **options: Unpack[Options]
    ) -> list[wire.Translation]: ...

    def translate(
        self, text: str | list[str] | tuple[str, ...], **options: Unpack[Options]
    ) -> wire.Translation | list[wire.Translation]:
        """One text, or several in order; of several, one that fails fails the call."""
        chosen = wire.Options(**options)
        if not isinstance(text, str):
            return [each for batch in batches(text, chosen) for each in self._batch(batch)]
        request = wire.TranslateRequest(text=text, options=chosen)
        response = self._repeated(
            lambda left: self._stub.Translate(request, timeout=left, metadata=self._known)
        )
        return response.translation

    def stream(self, text: str, **options: Unpack[Options]) -> Iterator[str]:
        """The translation piece by piece, as it is found; repeated only while nothing has come."""
        request = wire.StreamTranslateRequest(text=text, options=wire.Options(**options))
        attempts = Attempts(self._retries, self._timeout)
        begun = False
        with until_closed(self._closed.is_set):
            while True:
                call = self._stub.StreamTranslate(request, timeout=attempts.left(), metadata=self._known)
                try:
                    for response in call:
                        if response.text:
                            begun = True
                            yield response.text
                    return
                except grpc.RpcError as error:
                    told = failure(error)
                    if begun:
                        raise told from error
                    pause = attempts.pause(told)
                finally:
                    call.cancel()  # who stops reading wants no more of it
                self._wait(pause)

    def attend(self, text: str, **options: Unpack[Options]) -> wire.AttendResponse:
        """The translation with all the weights behind it."""
        request = wire.AttendRequest(text=text, options=wire.Options(**options))
        return self._repeated(lambda left: self._stub.Attend(request, timeout=left, metadata=self._known))

    def models(self) -> wire.ListModelsResponse:
        """What can be asked for."""
        return self._repeated(
            lambda left: self._stub.ListModels(wire.ListModelsRequest(), timeout=left, metadata=self._known)
        )

    def close(self) -> None:
        """The connection ends, and what is under way or waits to be repeated with it."""
        self._closed.set()
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _batch(self, batch: TextBatch) -> list[wire.Translation]:
        def ask(left: float | None) -> list[wire.Translation]:
            batch.take(self._stub.BatchTranslate(batch.request(), timeout=left, metadata=self._known))
            return batch.found

        return self._repeated(ask)

    def _repeated(self, call: Callable[[float | None], Answer]) -> Answer:
        attempts = Attempts(self._retries, self._timeout)
        with until_closed(self._closed.is_set):
            while True:
                try:
                    return call(attempts.left())
                except grpc.RpcError as error:
                    pause = attempts.pause(failure(error))
                except TranslationError as error:  # of a text in a batch
                    pause = attempts.pause(error)
                self._wait(pause)

    def _wait(self, pause: float) -> None:
        if self._closed.wait(pause):
            raise ClientClosedError
