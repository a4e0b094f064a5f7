"""Certificates in PEM files, checked before anything uses them."""

import ssl
from pathlib import Path
from typing import NamedTuple

from serving.security.watched_file import UnusableError, read_bytes


class KeyPair(NamedTuple):
    """A certificate, with those that lead to its authority, and its key."""

    certificate: bytes
    key: bytes


def load_pair(context: ssl.SSLContext, certificate: Path, key: Path) -> KeyPair:
    """Into the context. -> the same, for gRPC."""

    def password() -> str:
        raise UnusableError(f"{key} is encrypted, and nobody is asked for a password: name one that is not")

    pair = KeyPair(read_bytes(certificate), read_bytes(key))
    try:
        context.load_cert_chain(certificate, key, password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            told = f"{key} is not the key of {certificate}: name two that belong together"
        else:
            told = f"{certificate} and {key} are no certificate and its key: name two such PEM files"
        raise UnusableError(told) from error
    if pair != (read_bytes(certificate), read_bytes(key)):
        raise UnusableError(f"{certificate} or {key} changed while they were read: start it again")
    return pair


def load_authorities(context: ssl.SSLContext, path: Path) -> bytes:
    """Into the context, which trusts whoever they vouch for. -> the same, for gRPC."""
    content = read_bytes(path)
    try:
        context.load_verify_locations(cadata=content.decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise UnusableError(
            f"{path} has no certificate of an authority: name a PEM file that has one"
        ) from error
    return content
