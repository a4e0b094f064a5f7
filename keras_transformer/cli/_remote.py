"""The MODEL of `translate` behind an address: the server divides the lines, and nothing is loaded here."""

import argparse
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_transformer.cli import CommandError
from keras_transformer.cli._address import Address
from keras_transformer.cli._opened import Opened, refuse_what_only_a_run_can
from keras_transformer.text.sentences import Parts

if TYPE_CHECKING:
    from serving import Client, TranslationError
    from serving.v1 import translation_pb2 as wire

NEEDED = ("grpc", "grpc_status")
ENCRYPTING = {
    "--ca": "with grpcs: the authority behind the server's certificate (without it any that gRPC trusts)",
    "--certificate": "with grpcs: one's own certificate, for a server that asks for one",
    "--key": "and its key",
}
OPTIONS = {"--token-file": "the bearer token that the server wants", **ENCRYPTING}
AT_ONCE = 2  # batches: while the server has one, the next is there already
PATIENCE = 600.0  # seconds for a batch and its repetitions
REPEATED = 8  # times: a server that has too much to do is waited for


def configure_remote(parser: argparse.ArgumentParser) -> None:
    """The options."""
    group = parser.add_argument_group("where MODEL is a server")
    for option, meaning in OPTIONS.items():
        group.add_argument(option, type=Path, metavar="F", help=meaning)


def refuse_server_options(arguments: argparse.Namespace) -> None:
    """MODEL is a path."""
    for option in _given(arguments, OPTIONS):
        arguments.usage_error(f"{option} is for a server, as grpc://HOST:PORT; got {arguments.model}")


@contextmanager
def connected(arguments: argparse.Namespace) -> Iterator[Opened]:
    """The server, once it has said what it translates; disconnected afterwards."""
    address: Address = arguments.model
    if not address.encrypted:
        for option in _given(arguments, ENCRYPTING):
            arguments.usage_error(f"{option} is for a server with TLS, as grpcs://HOST:PORT; got {address}")
    refuse_what_only_a_run_can(arguments, "a server", "its model")
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise CommandError(
            f"asking a server needs {' and '.join(missing)}, which this environment has not: "
            "install the package from its clone with its extra `serve`."
        )
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what it logs is in the errors
    from serving import Client, Retries, Tls, TranslationError
    from serving.security.watched_file import UnusableError

    tls = Tls(arguments.ca, arguments.certificate, arguments.key) if address.encrypted else None
    try:
        client = partial(Client, address.target, PATIENCE, token=_token(arguments), tls=tls)
        with client(retries=Retries(times=1)) as first:  # who is not there is not waited for
            languages = _languages(first.models().models, address)
    except UnusableError as error:
        raise CommandError(f"{error}.") from error
    except TranslationError as error:
        raise _told(address, error) from error
    form = _scored if arguments.scores else _text
    with ThreadPoolExecutor(AT_ONCE) as pool, client(retries=Retries(times=REPEATED)) as asked:
        yield Opened(
            languages, _whole, 0, _Remote(asked, pool, arguments).translate, form, f" with {address}"
        )


class _Remote:
    def __init__(self, client: "Client", pool: ThreadPoolExecutor, arguments: argparse.Namespace) -> None:
        self._address: Address = arguments.model
        self._pool = pool
        self._ask: Callable[[Any], Any] = partial(
            client.translate,
            model=self._address.model,
            version=self._address.version,
            scores=arguments.scores,
        )

    def translate(self, texts: list[str]) -> "Iterator[wire.Translation]":
        """In their order, each as soon as its batch is there; those before one that fails have come then."""
        from serving import TranslationError
        from serving.client.calls import BATCH_TEXTS

        under_way: deque[tuple[list[str], Future[list[wire.Translation]]]] = deque()
        try:
            for begin in range(0, len(texts), BATCH_TEXTS):
                batch = texts[begin : begin + BATCH_TEXTS]
                under_way.append((batch, self._pool.submit(self._ask, batch)))
                if len(under_way) == AT_ONCE:
                    yield from self._answers(*under_way.popleft())
            while under_way:
                yield from self._answers(*under_way.popleft())
        except TranslationError as error:
            raise _told(self._address, error) from error

    def _answers(
        self, batch: list[str], asked: "Future[list[wire.Translation]]"
    ) -> "Iterable[wire.Translation]":
        from grpc import StatusCode

        from serving import TranslationError

        try:
            return asked.result()
        except TranslationError as error:
            if error.code not in (StatusCode.INVALID_ARGUMENT, StatusCode.INTERNAL):
                raise
        return map(self._ask, batch)  # it is one text's fault: those before it have their answers


def _given(arguments: argparse.Namespace, options: Iterable[str]) -> list[str]:
    return [each for each in options if getattr(arguments, each[2:].replace("-", "_")) is not None]


def _token(arguments: argparse.Namespace) -> str | None:
    from serving.addresses import is_loopback
    from serving.security.tokens import read_tokens

    if arguments.token_file is None:
        return None
    tokens = read_tokens(arguments.token_file)
    if len(tokens) > 1:
        raise CommandError(f"{arguments.token_file} has {len(tokens)} tokens: leave the one that is yours.")
    address: Address = arguments.model
    if not address.encrypted and not is_loopback(address.host):
        print(f"warning: the token goes to {address} in clear", file=sys.stderr, flush=True)
    return tokens[0]


def _languages(models: "Iterable[wire.Model]", address: Address) -> str:
    """As they are printed, of the model that is asked, which has to be there."""
    from serving.v1 import translation_pb2 as wire

    names = [each.name for each in models]
    if not any(each.state == wire.STATE_SERVING for model in models for each in model.versions):
        raise CommandError(
            f"{address} has no model at the moment: repeat it once one is served; "
            "where versions were refused, the server's log says why."
        )
    found = [each for each in models if address.model in ("", each.name)]
    if len(found) != 1:
        raise CommandError(f"{address} has {' and '.join(names)}: name one of them, as {address}/{names[0]}.")
    (model,) = found
    there = [each for each in model.versions if each.state == wire.STATE_SERVING]
    for each in there:
        if each.version == (address.version or model.default_version):
            return f" {each.source_language} to {each.target_language}" if each.source_language else ""
    raise CommandError(
        f"{address} has no version {address.version or model.default_version} of {model.name} that answers: "
        f"name one of {', '.join(str(each.version) for each in there) or 'another model'}."
    )


def _told(address: Address, error: "TranslationError") -> CommandError:
    """With what can be done about it."""
    from grpc import StatusCode

    remedy = {
        StatusCode.UNAVAILABLE: ": is it there, and with TLS as grpcs://, without as grpc://?",
        StatusCode.UNAUTHENTICATED: ": name a file that has the token with --token-file.",
    }
    return CommandError(f"{address}: {str(error).rstrip('.')}{remedy.get(error.code, '.')}")


def _whole(line: str) -> Parts:
    """Leave the division to the server, which an empty line need not be sent to."""
    return Parts([line], ["", ""], 0) if line else Parts([], [""], 0)


def _text(line: Parts, found: "list[wire.Translation]") -> str:
    return found[0].text if line.texts else ""


def _scored(line: Parts, found: "list[wire.Translation]") -> str:
    score = f"{found[0].score:.4f}" if line.texts and found[0].HasField("score") else ""
    return f"{score}\t{_text(line, found)}"
