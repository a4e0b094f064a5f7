"""Certificates, tokens and servers that want them: for tests of who is heard."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trustme

from serving.limits import Limits
from serving.registry.registry import Registry
from serving.security.listening import Security
from serving.server import Server
from tests.support.serving.echo import echo


class Files:
    """PEM files of two authorities that know nothing of each other, and what each has signed."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.authority, self.stranger = trustme.CA(), trustme.CA()
        self.ca = self._write("ca", self.authority.cert_pem)
        self.other_ca = self._write("other-ca", self.stranger.cert_pem)
        self.server = self.issued("server", "localhost", "127.0.0.1")
        self.client = self.issued("client", "client@example.org")
        self.strange_client = self.issued("strange", "client@example.org", by=self.stranger)

    def issued(self, name: str, *identities: str, by: trustme.CA | None = None) -> tuple[Path, Path]:
        """A certificate and its key, written over those of the same name."""
        leaf = (by or self.authority).issue_cert(*identities)
        chain = b"".join(each.bytes() for each in leaf.cert_chain_pems)
        certificate, key = self.directory / f"{name}.pem", self.directory / f"{name}-key.pem"
        replace(certificate, chain)
        replace(key, leaf.private_key_pem.bytes())
        return certificate, key

    def tokens(self, *tokens: str) -> Path:
        path = self.directory / "tokens"
        replace(path, "\n".join(tokens).encode())
        return path

    def _write(self, name: str, blob: trustme.Blob) -> Path:
        path = self.directory / f"{name}.pem"
        blob.write_to_path(str(path))
        return path


def replace(path: Path, content: bytes) -> None:
    """As those who rotate files do it: whole, for its owner alone, in one step."""
    new = path.with_suffix(".new")
    new.write_bytes(content)
    new.chmod(0o600)
    new.replace(path)


@asynccontextmanager
async def secured(security: Security) -> AsyncIterator[str]:
    """A server whose model says what it hears. -> its address"""
    server = Server(Limits(), security)
    port = await server.start("127.0.0.1", 0)
    await server.open(Registry([echo()]))
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.drain(0)


async def presented(address: str, ca: Path) -> bytes:
    """The certificate that a new connection is shown."""

    def look() -> bytes:
        context = ssl.create_default_context(cafile=ca)
        context.set_alpn_protocols(["h2"])
        host, _, port = address.rpartition(":")
        with (
            socket.create_connection((host, int(port)), timeout=10) as raw,
            context.wrap_socket(raw, server_hostname=host) as connection,
        ):
            return connection.getpeercert(binary_form=True) or b""

    return await asyncio.to_thread(look)


def der(certificate: Path) -> bytes:
    """The first certificate of a PEM file, as a connection shows it."""
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    first = certificate.read_text().partition(end)[0].partition(begin)[2]
    return ssl.PEM_cert_to_DER_cert(f"{begin}{first}{end}\n")
