"""Where a server is, as it is typed."""

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
        """From what was typed."""
        found = urlsplit(text)
        name, _, version = found.path.removeprefix("/").partition("/")
        try:
            whole = found.scheme in SCHEMES and found.hostname and found.port
        except ValueError:  # a port that is none
            whole = False
        more = found.query or found.fragment or "@" in found.netloc
        if not whole or more or (version and not (version.isascii() and version.isdecimal())):
            raise argparse.ArgumentTypeError(
                f"a server is grpc://HOST:PORT or grpcs://HOST:PORT, then perhaps /NAME/VERSION; got {text}"
            )
        return cls(found.netloc, found.scheme == "grpcs", name, int(version or 0))

    @property
    def host(self) -> str:
        """Without the brackets of IPv6."""
        return self.target.rpartition(":")[0].strip("[]")

    def __str__(self) -> str:
        return f"{SCHEMES[self.encrypted]}://{self.target}"


def path_or_address(text: str) -> Path | Address:
    """The MODEL of `translate`."""
    return Address.of(text) if "://" in text else Path(text)
