"""The address of a server, as it is typed."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

SCHEMES = ("grpc", "grpcs")


@dataclass(frozen=True)
class Address:
    """grpc://HOST:PORT, then perhaps /NAME and /VERSION of a model; grpcs:// is encrypted."""

    target: str  # HOST:PORT
    encrypted: bool = False
    model: str = ""
    version: int = 0

    @classmethod
    def of(cls, text: str) -> Self:
        """Parse what was typed.

        Raises:
            argparse.ArgumentTypeError: It is no address of a server.
        """
        parts = urlsplit(text)
        name, _, version = parts.path.removeprefix("/").partition("/")
        try:
            whole = parts.scheme in SCHEMES and parts.hostname and parts.port
        except ValueError:  # the port is not a number
            whole = False
        extra = parts.query or parts.fragment or "@" in parts.netloc
        if not whole or extra or (version and not (version.isascii() and version.isdecimal())):
            raise argparse.ArgumentTypeError(
                f"a server is grpc://HOST:PORT or grpcs://HOST:PORT, then perhaps /NAME/VERSION; got {text}"
            )
        return cls(parts.netloc, parts.scheme == "grpcs", name, int(version or 0))

    @property
    def host(self) -> str:
        """The host, without the brackets of IPv6."""
        return self.target.rpartition(":")[0].strip("[]")

    def __str__(self) -> str:
        return f"{SCHEMES[self.encrypted]}://{self.target}"


def path_or_address(text: str) -> Path | Address:
    """Parse the MODEL of `translate`."""
    return Address.of(text) if "://" in text else Path(text)
