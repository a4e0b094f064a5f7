"""Base class of both clients: the connection and its credentials."""

from typing import Any

from serving.client.calls import CHANNEL, Retries
from serving.client.tls import File, Tls, credentials
from serving.security.tokens import authorization
from serving.v1.translation_pb2_grpc import TranslationServiceStub


class Connection:
    """Base class of the clients; see `serving.Client` for the arguments."""

    _grpc: Any  # the module that creates channels: grpc or grpc.aio
    _event: Any  # class of the event that is set when the client is closed

    def __init__(
        self,
        target: str,
        timeout: float | None = 60.0,
        retries: Retries = Retries(),  # noqa: B008
        token: str | None = None,
        tls: Tls | File | bool | None = None,
    ) -> None:
        self._headers = None if token is None else (("authorization", authorization(token)),)
        secure = credentials(tls)
        self._channel = (
            self._grpc.secure_channel(target, secure, options=CHANNEL)
            if secure
            else self._grpc.insecure_channel(target, options=CHANNEL)
        )
        self._stub = TranslationServiceStub(self._channel)
        self._timeout = timeout
        self._retries = retries
        self._closed = self._event()
