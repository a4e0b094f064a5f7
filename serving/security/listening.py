"""Who may ask a server, and how it is encrypted."""

import stat
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import grpc
from grpc_health.v1 import health

from serving.addresses import is_loopback
from serving.security.certificates import Certificates
from serving.security.tokens import Tokens

UNAUTHENTICATED = "this server wants a token that it knows: send the metadata `authorization: Bearer TOKEN`"
OPEN = f"/{health.SERVICE_NAME}/"  # to those who balance load, too, who have no token


@dataclass(frozen=True)
class Security:
    """Without anything: all may ask, in clear."""

    certificates: Certificates | None = None
    tokens: Tokens | None = None
    secrets: tuple[Path, ...] = ()  # files that nobody else should read

    @classmethod
    def of(
        cls,
        certificate: Path | None = None,
        key: Path | None = None,
        client_ca: Path | None = None,
        tokens: Path | None = None,
    ) -> Self:
        """From files in use; UnusableError says which of them is of none."""
        if (certificate is None) != (key is None) or (client_ca is not None and certificate is None):
            raise ValueError("a certificate and its key go together, and an authority needs both")
        return cls(
            Certificates(certificate, key, client_ca) if certificate and key else None,
            Tokens(tokens) if tokens else None,
            tuple(path for path in (key, tokens) if path),
        )

    def listen(self, server: grpc.aio.Server, place: str) -> int:
        """-> the port."""
        if self.certificates is None:
            return server.add_insecure_port(place)
        return server.add_secure_port(place, self.certificates.grpc_credentials())

    def interceptors(self) -> list[grpc.aio.ServerInterceptor]:
        """What stands before each method: nothing, where there are no tokens."""
        return [_Known(self.tokens)] if self.tokens else []

    def warnings(self, host: str) -> Iterator[str]:
        """What somebody who starts a server there should know."""
        if self.certificates is None and not is_loopback(host):
            sent = "texts and tokens are" if self.tokens else "anyone may ask, and texts are"
            yield f"{host} is for others, too: {sent} sent in clear without --tls-certificate and --tls-key"
        for path in self.secrets:
            if path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
                yield f"{path} can be read by others than its owner: chmod 600 {path}"


class _Known(grpc.aio.ServerInterceptor):
    """Refuses who has no token, before anything of the request is read."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        # a stream takes the place of every kind of method: nothing need come before it answers
        self._refusing: Any = grpc.stream_stream_rpc_method_handler(_refuse)

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """The method, or the refusal."""
        metadata = handler_call_details.invocation_metadata
        told = [str(value) for name, value in metadata if name == "authorization"]
        if handler_call_details.method.startswith(OPEN) or self._tokens.accepts(*told):
            return await continuation(handler_call_details)
        return self._refusing


async def _refuse(requests: Any, context: Any) -> None:
    await context.abort(grpc.StatusCode.UNAUTHENTICATED, UNAUTHENTICATED)
