"""TLS certificates of a server, which are reloaded without a restart when their files change."""

import ssl
from pathlib import Path
from typing import NamedTuple

import grpc

from serving.security.pem import KeyPair, load_authorities, load_pair
from serving.security.watched_file import Watched


class Certificates:
    """Certificate of a server, and optionally the authority of its clients.

    Args:
        certificate: File with the server's certificate chain.
        key: File with its private key.
        client_ca: File of the authority that must have signed a client's certificate; None to request no
            certificate.

    Raises:
        UnusableError: If a file cannot be used.
    """

    def __init__(self, certificate: Path, key: Path, client_ca: Path | None = None) -> None:
        paths = [certificate, key, *([client_ca] if client_ca else [])]
        self._requires_client = client_ca is not None
        self._files = Watched(paths, lambda: _read(certificate, key, client_ca))

    def grpc_credentials(self) -> grpc.ServerCredentials:
        """Return credentials that use the current files for each new connection."""
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
        """Return a context for `asyncio` that uses the current files for each new connection."""

        def choose(connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
            connection.context = self._files.now().context

        context = _context(self._requires_client)
        context.sni_callback = choose  # called at each handshake, even if the client names no server
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
    """Return the context of a server that requires client certificates, or does not."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if requires_client:
        context.verify_mode = ssl.CERT_REQUIRED
        # resume no session, so that every connection is checked against the current authorities
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.num_tickets = 0
    return context
