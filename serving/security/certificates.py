"""How a server proves who it is, and whom it asks for the same; new files are taken without a restart."""

import ssl
from pathlib import Path
from typing import NamedTuple

import grpc

from serving.security.pem import KeyPair, load_authorities, load_pair
from serving.security.watched_file import Watched


class Certificates:
    """A certificate with its key; with `client_ca` nobody is heard who has no certificate from it."""

    def __init__(self, certificate: Path, key: Path, client_ca: Path | None = None) -> None:
        paths = [certificate, key, *([client_ca] if client_ca else [])]
        self._asks = client_ca is not None
        self._read = Watched(paths, lambda: _read(certificate, key, client_ca))

    def grpc_credentials(self) -> grpc.ServerCredentials:
        """Each new connection has what the files say then."""
        told = self._read.now()

        def changed() -> grpc.ServerCertificateConfiguration | None:
            nonlocal told
            before, told = told, self._read.now()
            return None if told is before else told.configuration()

        return grpc.dynamic_ssl_server_credentials(
            told.configuration(),
            changed,  # type: ignore[arg-type]  # None, "no change", is missing in the stubs
            self._asks,
        )

    def ssl_context(self) -> ssl.SSLContext:
        """The same for `asyncio`: nothing has to be called when the files change."""

        def choose(connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
            connection.context = self._read.now().context

        context = _context(self._asks)
        context.sni_callback = choose  # asked at each handshake, also where the client names no server
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


def _context(asks: bool) -> ssl.SSLContext:
    """Of a server that asks its clients for a certificate, or not."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if asks:
        context.verify_mode = ssl.CERT_REQUIRED
        # Who was let in once is looked at again, by the authorities of that moment: no session is resumed.
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.num_tickets = 0
    return context
