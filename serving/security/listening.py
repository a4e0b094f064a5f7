"""Access to a server: encryption and bearer tokens."""

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

UNAUTHENTICATED = "missing or unknown bearer token. Send the metadata `authorization: Bearer TOKEN`."
OPEN = f"/{health.SERVICE_NAME}/"  # needs no token, because load balancers have none


@dataclass(frozen=True)
class Security:
    """Encryption and tokens of a server; by default neither.

    Attributes:
        certificates: Certificate of the server; None for no encryption.
        tokens: Accepted tokens; None to accept every caller.
        secrets: Files that only their owner should be able to read.
    """

    certificates: Certificates | None = None
    tokens: Tokens | None = None
    secrets: tuple[Path, ...] = ()

    @classmethod
    def of(
        cls,
        certificate: Path | None = None,
        key: Path | None = None,
        client_ca: Path | None = None,
        tokens: Path | None = None,
    ) -> Self:
        """Read certificate, key, authority and tokens from files.

        Raises:
            UnusableError: If a file cannot be used.
            ValueError: For a certificate without its key, or an authority without them.
        """
        if (certificate is None) != (key is None) or (client_ca is not None and certificate is None):
            raise ValueError("certificate and key must be given together, and client_ca needs both")
        return cls(
            Certificates(certificate, key, client_ca) if certificate and key else None,
            Tokens(tokens) if tokens else None,
            tuple(path for path in (key, tokens) if path),
        )

    def listen(self, server: grpc.aio.Server, address: str) -> int:
        """Make a server listen at an address, and return the port."""
        if self.certificates is None:
            return server.add_insecure_port(address)
        return server.add_secure_port(address, self.certificates.grpc_credentials())

    def interceptors(self) -> list[grpc.aio.ServerInterceptor]:
        """Return the interceptors of all methods: the check of tokens, if there are tokens."""
        return [_TokenCheck(self.tokens)] if self.tokens else []

    def warnings(self, host: str) -> Iterator[str]:
        """Yield warnings for the operator of a server at this host."""
        if self.certificates is None and not is_loopback(host):
            sent = "texts and tokens are" if self.tokens else "every caller is accepted, and texts are"
            yield (
                f"{host} can be reached from other machines: {sent} sent unencrypted. "
                "Use --tls-certificate and --tls-key."
            )
        for path in self.secrets:
            if path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
                yield f"{path} can be read by others than its owner. Run chmod 600 {path}"


class _TokenCheck(grpc.aio.ServerInterceptor):
    """Interceptor that refuses callers without a token, before any of the request is read."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        # a stream handler can replace every kind of method, and answers before it reads a message
        self._refusing: Any = grpc.stream_stream_rpc_method_handler(_refuse)

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Return the method, or the refusal."""
        metadata = handler_call_details.invocation_metadata
        headers = [str(value) for name, value in metadata if name == "authorization"]
        if handler_call_details.method.startswith(OPEN) or self._tokens.accepts(*headers):
            return await continuation(handler_call_details)
        return self._refusing


async def _refuse(requests: Any, context: Any) -> None:
    await context.abort(grpc.StatusCode.UNAUTHENTICATED, UNAUTHENTICATED)
