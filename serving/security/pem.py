"""Certificates and keys in PEM files, checked before they are used."""

import ssl
from pathlib import Path
from typing import NamedTuple

from serving.security.watched_file import UnusableError, read_bytes


class KeyPair(NamedTuple):
    """Certificate chain and its private key, as PEM."""

    certificate: bytes
    key: bytes


def load_pair(context: ssl.SSLContext, certificate: Path, key: Path) -> KeyPair:
    """Load a certificate and its key into a context, and return them for gRPC.

    Raises:
        UnusableError: If the files cannot be read or do not belong together, or the key is encrypted.
    """

    def password() -> str:
        raise UnusableError(f"{key} is encrypted, which is not supported; name a key without a password")

    pair = KeyPair(read_bytes(certificate), read_bytes(key))
    try:
        context.load_cert_chain(certificate, key, password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            message = f"{key} is not the key of {certificate}; name two that belong together"
        else:
            message = f"{certificate} and {key} are not a certificate and a key; name two such PEM files"
        raise UnusableError(message) from error
    if pair != (read_bytes(certificate), read_bytes(key)):
        raise UnusableError(f"{certificate} or {key} changed while they were read; repeat it")
    return pair


def load_authorities(context: ssl.SSLContext, path: Path) -> bytes:
    """Load trusted authorities into a context, and return them for gRPC.

    Raises:
        UnusableError: If the file cannot be read, or has no certificate.
    """
    content = read_bytes(path)
    try:
        context.load_verify_locations(cadata=content.decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise UnusableError(f"{path} has no certificate of an authority; name a PEM file with one") from error
    return content
