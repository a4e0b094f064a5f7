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
        ca: File of the authority that signed the server's certificate; None for those that gRPC trusts.
        certificate: File of the client's own certificate, for a server that requires one.
        key: File of its private key.

    Example:
        ```python
        client = Client("translate.example.org:50051", tls=Tls(ca="ca.pem"))
        ```
    """

    ca: File | None = None
    certificate: File | None = None
    key: File | None = None

    def credentials(self) -> grpc.ChannelCredentials:
        """Load the files as credentials of a channel.

        Returns:
            The credentials.

        Raises:
            UnusableError: If a file cannot be used, or a certificate has no key.
        """
        if (self.certificate is None) != (self.key is None):
            raise UnusableError("a client's certificate and its key go together; give both, or neither")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # reports what is wrong with a file
        authorities = None if self.ca is None else load_authorities(context, Path(self.ca))
        if self.certificate is None or self.key is None:
            return grpc.ssl_channel_credentials(authorities)
        pair = load_pair(context, Path(self.certificate), Path(self.key))
        return grpc.ssl_channel_credentials(authorities, pair.key, pair.certificate)


def credentials(tls: Tls | File | bool | None) -> grpc.ChannelCredentials | None:
    """Convert a client's `tls` argument to credentials; None is no encryption.

    Raises:
        UnusableError: If the argument, or a file, cannot be used.
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
