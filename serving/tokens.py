"""Bearer tokens: a file of them, and whether a request has one."""

import hmac
import re
import secrets
from pathlib import Path

from serving.watched import UnusableError, Watched, read_bytes

_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")  # as RFC 6750 has it
_HEADER = re.compile(rf"bearer +({_TOKEN.pattern}) *", re.IGNORECASE)


class Tokens:
    """Those of a file that is read again when it changes. None of them is ever told."""

    def __init__(self, path: Path) -> None:
        self._key = secrets.token_bytes(32)
        self._digests = Watched([path], lambda: {self._digest(token) for token in read_tokens(path)})

    def accepts(self, *headers: str) -> bool:
        """Whether the request has one `authorization`, and this is `Bearer` with one of the tokens.

        How long it takes says nothing of the tokens: what is looked up is a digest with a secret key. It does
        not grow with their number either.
        """
        if len(headers) != 1 or (found := _HEADER.fullmatch(headers[0])) is None:
            return False
        return self._digest(found[1]) in self._digests.now()

    def _digest(self, token: str) -> bytes:
        return hmac.digest(self._key, token.encode(), "sha256")


def read_tokens(path: Path) -> list[str]:
    """One a line; blank lines and those that begin with # are none."""
    lines = [line.strip() for line in read_bytes(path).decode("utf-8", "replace").splitlines()]
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line and not line.startswith("#")]
    for number, line in numbered:
        if not _TOKEN.fullmatch(line):
            raise UnusableError(f"{path}, line {number} is no token: {_RULE}")
    if not numbered:
        raise UnusableError(f"{path} has no token: write one a line, as `openssl rand -hex 32` makes them")
    return [line for _, line in numbered]


def authorization(token: str) -> str:
    """What a request says that has this token."""
    if not _TOKEN.fullmatch(token):
        raise UnusableError(f"the token of {len(token)} characters is none: {_RULE}")
    return f"Bearer {token}"


_RULE = "it has letters, digits and -._~+/ alone, and = at its end; no white space, no line end"
