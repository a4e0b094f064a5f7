"""TLS of a server; new certificate files take effect without a restart."""

import ssl
from pathlib import Path
from typing import NamedTuple

import grpc

from serving.security.pem import KeyPair, load_authorities, load_pair
from serving.security.watched_file import Watched


class Certificates:
    """The certificate of a server, and optionally the authority of its clients.

    Args:
        certificate: The server's certificate chain.
        key: Its key.
        client_ca: Authority that a client's certificate must come from; None asks for no certificate.

    Raises:
        UnusableError: A file cannot be used.
    """

    def __init__(self, certificate: Path, key: Path, client_ca: Path | None = None) -> None:
        paths = [certificate, key, *([client_ca] if client_ca else [])]
        self._requires_client = client_ca is not None
        self._files = Watched(paths, lambda: _read(certificate, key, client_ca))

    def grpc_credentials(self) -> grpc.ServerCredentials:
        """Return credentials that give each new connection the current files."""
        current = self._files.now()

        def changed() -> grpc.ServerCertificateConfiguration | None:
            nonlocal current
            former, current = current, self._files.now()
            return None if current is former else current.configuration()

        return grpc.dynamic_ssl_server_credentials(
            current.configuration(),
            changed,  # type: ignore[arg-type]  # None, "no change", is missing in the stubs
            self._requires_client,
        )

    def ssl_context(self) -> ssl.SSLContext:
        """Return a context for `asyncio` that gives each new connection the current files."""

        def choose(connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
            connection.context = self._files.now().context

        context = _context(self._requires_client)
        context.sni_callback = choose  # called at each handshake, also where the client names no server
        return context


class _Read(NamedTuple):
    pair: KeyPair
    authorities: bytes | None
    context: ssl.SSLContext

    def configuration(self) -> grpc.ServerCertificateConfiguration:
        return grpc.ssl_server_certificate_configuration(
            [(self.pair.key, self.pair.certificate)], self.authorities
        )


def _read(certificate: Path, key: Path, client_ca: Path | None) -> _Read:
    context = _context(client_ca is not None)
    pair = load_pair(context, certificate, key)
    return _Read(pair, load_authorities(context, client_ca) if client_ca else None, context)


def _context(requires_client: bool) -> ssl.SSLContext:
    """Return the context of a server that requires a certificate of its clients, or not."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if requires_client:
        context.verify_mode = ssl.CERT_REQUIRED
        # No session is resumed, so that every connection is checked against the current authorities.
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.num_tickets = 0
    return context
