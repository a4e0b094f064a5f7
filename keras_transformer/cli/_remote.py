"""The MODEL of `translate` on a server, which divides the lines; no model is loaded here."""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from keras_transformer.cli import CommandError, add_files, failures
from keras_transformer.cli._answers import scored_line
from keras_transformer.cli._models import DEFAULT_SEARCH, search_options
from keras_transformer.cli._opened import Opened, refuse_what_only_a_run_can
from keras_transformer.inference.answer import Translation
from keras_transformer.libraries import LibraryError, check_installed
from keras_transformer.text.sentences import Parts

if TYPE_CHECKING:
    from serving import Client, TranslationError
    from serving.v1 import translation_pb2 as wire

NEEDED = ("grpc", "grpc_status")
ENCRYPTING = {
    "--ca": "with grpcs://, the authority that signed the server's certificate (those that gRPC trusts)",
    "--certificate": "with grpcs://, the client's certificate, for a server that asks for one",
    "--key": "with grpcs://, the key of the client's certificate",
}
OPTIONS = {"--token-file": "file with the bearer token for the server", **ENCRYPTING}
MAX_BATCHES = 2  # batches under way at the same time: one arrives while the server translates the other
TIMEOUT = 600.0  # seconds for a batch and its repetitions
MAX_ATTEMPTS = 8  # repetitions of a call that an overloaded server refuses
SCHEMES = ("grpc", "grpcs")


@dataclass(frozen=True)
class Address:
    """Address grpc://HOST:PORT of a server, optionally with /NAME/VERSION; grpcs:// is encrypted."""

    target: str  # HOST:PORT
    encrypted: bool = False
    model: str = ""
    version: int = 0

    @classmethod
    def of(cls, text: str) -> Self:
        """Parse an address.

        Raises:
            argparse.ArgumentTypeError: If it is not the address of a server.
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
        """Host name, without the brackets of IPv6."""
        return self.target.rpartition(":")[0].strip("[]")

    def __str__(self) -> str:
        return f"{SCHEMES[self.encrypted]}://{self.target}"


def path_or_address(text: str) -> Path | Address:
    """Parse the MODEL of `translate`."""
    return Address.of(text) if "://" in text else Path(text)


def configure_remote(parser: argparse.ArgumentParser) -> None:
    """Add the options for a server."""
    add_files(parser.add_argument_group("where MODEL is a server"), OPTIONS)


def refuse_server_options(arguments: argparse.Namespace) -> None:
    """End the program with its usage if there are options for a server, and MODEL is a path."""
    for option in _given(arguments, OPTIONS):
        arguments.usage_error(f"{option} is for a server, as grpc://HOST:PORT; got {arguments.model}")


@contextmanager
def connected(arguments: argparse.Namespace) -> Iterator[Opened]:
    """Connect to the server, and disconnect afterwards."""
    address: Address = arguments.model
    if not address.encrypted:
        for option in _given(arguments, ENCRYPTING):
            arguments.usage_error(f"{option} is for a server with TLS, as grpcs://HOST:PORT; got {address}")
    refuse_what_only_a_run_can(arguments, "a server", "its model")
    with failures(LibraryError, end="."):
        check_installed(NEEDED, "asking a server", "serve")
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its log repeats the errors
    from serving import Client, Retries, Tls, TranslationError
    from serving.security.watched_file import UnusableError

    tls = Tls(arguments.ca, arguments.certificate, arguments.key) if address.encrypted else None
    try:
        client = partial(Client, address.target, TIMEOUT, token=_token(arguments), tls=tls)
        with client(retries=Retries(times=1)) as first:  # do not wait for a server that does not run
            languages = _languages(first.models().models, address, arguments.target_language)
    except UnusableError as error:
        raise CommandError(f"{error}.") from error
    except TranslationError as error:
        raise _failure(address, error) from error
    form = partial(_scored, arguments.length_penalty) if arguments.scores else _text
    with ThreadPoolExecutor(MAX_BATCHES) as pool, client(retries=Retries(times=MAX_ATTEMPTS)) as connection:
        yield Opened(
            languages, _whole, 0, _Remote(connection, pool, arguments).translate, form, f" with {address}"
        )


class _Remote:
    def __init__(self, client: "Client", pool: ThreadPoolExecutor, arguments: argparse.Namespace) -> None:
        self._address: Address = arguments.model
        self._pool = pool
        self._request: Callable[[Any], Any] = partial(
            client.translate,
            model=self._address.model,
            version=self._address.version,
            scores=arguments.scores,
            **_search(arguments),
            target_language=arguments.target_language or "",
        )

    def translate(self, texts: list[str]) -> "Iterator[wire.Translation]":
        """Yield translations in order, including those before a text that fails."""
        from serving import TranslationError
        from serving.client.calls import BATCH_TEXTS

        batches = [texts[begin : begin + BATCH_TEXTS] for begin in range(0, len(texts), BATCH_TEXTS)]
        try:
            for batch, answers in zip(batches, self._pool.map(self._batch, batches), strict=True):
                yield from map(self._request, batch) if answers is None else answers
        except TranslationError as error:
            raise _failure(self._address, error) from error

    def _batch(self, texts: list[str]) -> "list[wire.Translation] | None":
        """Translate texts; None if one of them is at fault, so that those before it get their answers."""
        from grpc import StatusCode

        from serving import TranslationError

        try:
            return self._request(texts)
        except TranslationError as error:
            if error.code in (StatusCode.INVALID_ARGUMENT, StatusCode.INTERNAL):
                return None
            raise


def _given(arguments: argparse.Namespace, options: Iterable[str]) -> list[str]:
    return [option for option in options if getattr(arguments, option[2:].replace("-", "_")) is not None]


def _token(arguments: argparse.Namespace) -> str | None:
    from serving.addresses import is_loopback
    from serving.security.tokens import read_tokens

    if arguments.token_file is None:
        return None
    tokens = read_tokens(arguments.token_file)
    if len(tokens) > 1:
        raise CommandError(f"{arguments.token_file} has {len(tokens)} tokens: keep only your own.")
    address: Address = arguments.model
    if not address.encrypted and not is_loopback(address.host):
        print(f"warning: the token is sent to {address} unencrypted", file=sys.stderr, flush=True)
    return tokens[0]


def _languages(models: "Iterable[wire.Model]", address: Address, target_language: str | None) -> str:
    """Return the languages of the addressed model, as they are printed.

    Raises:
        CommandError: If the server has no such model, or several.
    """
    from serving.v1 import translation_pb2 as wire

    names = [model.name for model in models]
    if not any(version.state == wire.STATE_SERVING for model in models for version in model.versions):
        raise CommandError(
            f"{address} serves no model at the moment: repeat the command later. "
            "If a version was refused, the server's log has the reason."
        )
    matching = [model for model in models if address.model in ("", model.name)]
    if len(matching) != 1:
        raise CommandError(f"{address} has {' and '.join(names)}: name one of them, as {address}/{names[0]}.")
    (model,) = matching
    serving = [version for version in model.versions if version.state == wire.STATE_SERVING]
    for version in serving:
        if version.version == (address.version or model.default_version):
            target = target_language or version.target_language
            return f" {version.source_language} to {target}" if version.source_language else ""
    raise CommandError(
        f"{address} has no version {address.version or model.default_version} of {model.name} that answers: "
        f"name one of {', '.join(str(version.version) for version in serving) or 'another model'}."
    )


def _failure(address: Address, error: "TranslationError") -> CommandError:
    """Return the error of a call with its remedy."""
    from grpc import StatusCode

    remedy = {
        StatusCode.UNAVAILABLE: ": does it run, and with TLS as grpcs://, without as grpc://?",
        StatusCode.UNAUTHENTICATED: ": name a file that contains the token with --token-file.",
    }
    return CommandError(f"{address}: {str(error).rstrip('.')}{remedy.get(error.code, '.')}")


def _whole(line: str) -> Parts:
    """Return the line undivided, because the server divides it; an empty line is not sent."""
    return Parts([line], ["", ""], 0) if line else Parts([], [""], 0)


def _text(line: Parts, results: "list[wire.Translation]") -> Translation:
    from serving.v1 import translation_pb2 as wire

    if not line.texts:
        return Translation("", looped=False)
    return Translation(results[0].text, results[0].finish_reason == wire.FINISH_REASON_LOOP)


def _search(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the search options that differ from their defaults; earlier servers have none of them."""
    given = search_options(arguments)
    return {name: value for name, value in given.items() if value != DEFAULT_SEARCH[name]}


def _scored(penalty: float, line: Parts, results: "list[wire.Translation]") -> Translation:
    score = None
    if line.texts and results[0].HasField("score"):
        tokens = results[0].usage.target_tokens
        score = results[0].score * tokens / tokens**penalty
    return scored_line(score, _text(line, results))
