"""How a client knows its server, and is known to it."""

import os
import ssl
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import grpc

from serving.pem import load_authorities, load_pair
from serving.watched import UnusableError

File = str | os.PathLike[str]


@dataclass(frozen=True)
class Tls:
    """PEM files: of the authority behind the server's certificate, without it any that gRPC trusts; and the
    client's own certificate and key, for a server that asks for them."""

    ca: File | None = None
    certificate: File | None = None
    key: File | None = None

    def credentials(self) -> grpc.ChannelCredentials:
        """For a channel; UnusableError says which file is of no use."""
        if (self.certificate is None) != (self.key is None):
            raise UnusableError("a client's certificate and its key are needed together: give both, or none")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # which knows what is wrong with a file
        authorities = None if self.ca is None else load_authorities(context, Path(self.ca))
        if self.certificate is None or self.key is None:
            return grpc.ssl_channel_credentials(authorities)
        pair = load_pair(context, Path(self.certificate), Path(self.key))
        return grpc.ssl_channel_credentials(authorities, pair.key, pair.certificate)


def credentials(tls: Tls | File | bool | None) -> grpc.ChannelCredentials | None:
    """What a client was given: True, the file of an authority, or Tls. None is a channel in clear."""
    match tls:
        case None | False:
            return None
        case True:
            return Tls().credentials()
        case Tls():
            return tls.credentials()
        case str() | os.PathLike():
            return Tls(tls).credentials()
    raise UnusableError(f"tls is True, the file of an authority, or Tls(...); got {tls!r}")


def in_address(host: str) -> str:
    """Return the host as addresses have it: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    """Whether what goes there stays on this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
