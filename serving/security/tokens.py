"""Bearer tokens: the file of accepted tokens, and the check of a request."""

import hmac
import re
import secrets
from pathlib import Path

from serving.security.watched_file import UnusableError, Watched, read_bytes

_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")  # RFC 6750
_HEADER = re.compile(rf"bearer +({_TOKEN.pattern}) *", re.IGNORECASE)


class Tokens:
    """Accepted tokens, from a file that is read again when it changes. Tokens are never logged.

    Raises:
        UnusableError: If the file cannot be read, has no token, or a malformed one.
    """

    def __init__(self, path: Path) -> None:
        self._key = secrets.token_bytes(32)
        self._digests = Watched([path], lambda: {self._digest(token) for token in read_tokens(path)})

    def accepts(self, *headers: str) -> bool:
        """Return whether a request is authorized.

        Its duration reveals nothing about the tokens and does not depend on their number, because it looks up
        a digest with a secret key.

        Args:
            headers: Values of all `authorization` headers; exactly one is allowed.
        """
        if len(headers) != 1 or (match := _HEADER.fullmatch(headers[0])) is None:
            return False
        return self._digest(match[1]) in self._digests.now()

    def _digest(self, token: str) -> bytes:
        return hmac.digest(self._key, token.encode(), "sha256")


def read_tokens(path: Path) -> list[str]:
    """Return the tokens of a file with one token per line; blank lines and comments (#) are skipped.

    Raises:
        UnusableError: If the file cannot be read, has no token, or a malformed one.
    """
    lines = [line.strip() for line in read_bytes(path).decode("utf-8", "replace").splitlines()]
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line and not line.startswith("#")]
    for number, line in numbered:
        if not _TOKEN.fullmatch(line):
            raise UnusableError(f"{path}, line {number} is not a token; {_RULE}")
    if not numbered:
        raise UnusableError(f"{path} has no token; write one per line, such as `openssl rand -hex 32` prints")
    return [line for _, line in numbered]


def authorization(token: str) -> str:
    """Return the `authorization` header of a request with this token.

    Raises:
        UnusableError: If the token is malformed.
    """
    if not _TOKEN.fullmatch(token):
        raise UnusableError(f"the token of {len(token)} characters is malformed; {_RULE}")
    return f"Bearer {token}"


_RULE = "a token consists of letters, digits and -._~+/, with = at its end only, without white space"
