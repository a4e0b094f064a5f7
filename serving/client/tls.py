"""TLS of a client."""

import os
import ssl
from dataclasses import dataclass
from pathlib import Path

import grpc

from serving.security.pem import load_authorities, load_pair
from serving.security.watched_file import UnusableError

File = str | os.PathLike[str]


@dataclass(frozen=True)
class Tls:
    """PEM files of an encrypted connection.

    Attributes:
        ca: Authority of the server's certificate; None is any that gRPC trusts.
        certificate: The client's own certificate, for a server that requires one.
        key: Its key.
    """

    ca: File | None = None
    certificate: File | None = None
    key: File | None = None

    def credentials(self) -> grpc.ChannelCredentials:
        """Return the credentials of a channel.

        Raises:
            UnusableError: A file cannot be used.
        """
        if (self.certificate is None) != (self.key is None):
            raise UnusableError("a client's certificate and its key go together; give both, or neither")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # which knows what is wrong with a file
        authorities = None if self.ca is None else load_authorities(context, Path(self.ca))
        if self.certificate is None or self.key is None:
            return grpc.ssl_channel_credentials(authorities)
        pair = load_pair(context, Path(self.certificate), Path(self.key))
        return grpc.ssl_channel_credentials(authorities, pair.key, pair.certificate)


def credentials(tls: Tls | File | bool | None) -> grpc.ChannelCredentials | None:
    """Return the credentials of a client's `tls` argument; None is no encryption.

    Raises:
        UnusableError: The argument, or a file, cannot be used.
    """
    match tls:
        case None | False:
            return None
        case True:
            return Tls().credentials()
        case Tls():
            return tls.credentials()
        case str() | os.PathLike():
            return Tls(tls).credentials()
    raise UnusableError(f"tls must be True, the file of an authority, or Tls(...); got {tls!r}")
