"""Serve exported models over gRPC and HTTP, with health, reflection and metrics, until SIGTERM.

When the server is ready, it prints its addresses to stdout: gRPC first, then HTTP. SIGTERM and Ctrl-C drain
it: its health becomes NOT_SERVING, new requests are refused, and accepted requests are finished. The exit
status is then 0, or 1 if --grace was too short for them. A second signal ends the server at once.

examples:
  keras-transformer serve build/demo/models
  keras-transformer serve models/fr-en/1 --port 0 --precision int8
  keras-transformer serve models --http-port none --log-format json
  keras-transformer serve models --host 0.0.0.0 --slots 64 --queue 4096 --grace 60
  keras-transformer serve models --host 0.0.0.0 --tls-certificate c.pem --tls-key k.pem --token-file tokens
"""

import argparse
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_transformer.cli import CommandError, add_files, at_least_one, failures, report
from keras_transformer.cli._models import is_root, is_version, refuse_if_another_is_near
from keras_transformer.libraries import LibraryError, check_installed
from keras_transformer.text.visible import visible

if TYPE_CHECKING:
    from serving.security.listening import Security

NEEDED = (
    "aiohttp",
    "babel",
    "grpc",
    "grpc_health",
    "grpc_reflection",
    "google.rpc",
    "msgspec",
    "prometheus_client",
    "sentencepiece",
)
EXTRAS = {"onnx": "serve", "tensorflow": "serve,export"}
LIBRARIES = {"onnx": ("onnxruntime",), "tensorflow": ("tensorflow", "tensorflow_text")}  # of each runtime

SECONDS = {  # options by name: default, meaning
    "grace": (30.0, "that a draining server has to finish its requests; the rest is cut off"),
    "notice": (
        0.0,
        "before the draining in which the health is NOT_SERVING and requests are still taken, so that a "
        "balancer sends them elsewhere",
    ),
    "watch": (2.0, "between two checks of DIR for new, removed and changed versions; 0 is never"),
}
Counts = Mapping[str, tuple[int, int, str]]  # options by name: default, maximum, meaning
ENGINE: Counts = {
    "slots": (
        32,
        4096,
        "sentences that are decoded together: more give throughput, fewer give short answer times",
    ),
    "queue": (1024, 1_000_000, "sentences that may wait for a slot; further requests get RESOURCE_EXHAUSTED"),
    "prefill": (
        512,
        1_000_000,
        "source tokens that are encoded between two steps, while the sentences being decoded wait",
    ),
    "threads": (1, 1024, "threads of a matrix product; two can be slower than one on a shared machine"),
    "trial-seconds": (
        60,
        86_400,
        "processor seconds in which a version must open and translate its golden sentences in a process of "
        "its own before the server opens it; by the clock ten times as many",
    ),
}
LIMITS: Counts = {
    "characters": (5_000, 10_000_000, "characters of a text"),
    "tokens": (
        2_048,
        10_000_000,
        "source tokens of a text; long sentences are divided, so the model sets no such limit",
    ),
    "segments": (128, 100_000, "texts of a batch"),
    "message-bytes": (
        4 * 2**20,
        2**31 - 1,  # gRPC's own maximum
        "bytes of a message; a larger one gets RESOURCE_EXHAUSTED before it is read",
    ),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument(
        "directory",
        type=Path,
        metavar="DIR",
        help="a directory of NAME/VERSION directories, or one version directory",
    )
    where = parser.add_argument_group("address and life")
    where.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="H",
        help="address to listen at; 0.0.0.0 is every address of the machine (127.0.0.1)",
    )
    where.add_argument(
        "--port",
        type=_port,
        default=50051,
        metavar="N",
        help="port of gRPC; 0 is a free one, which stdout names (50051)",
    )
    where.add_argument(
        "--http-port",
        type=_port_or_none,
        default=8080,
        metavar="N",
        help="port of HTTP and the metrics; 0 is a free one, none is no HTTP (8080)",
    )
    where.add_argument(
        "--allowed-hosts",
        type=_names,
        default=frozenset(),
        metavar="NAME,...",
        help="host names that HTTP requests may use, separated by commas, besides localhost and addresses; "
        "by default only loopback names at a loopback address, elsewhere all",
    )
    for name, (seconds, meaning) in SECONDS.items():
        help_text = f"seconds {meaning} ({seconds:g})"
        where.add_argument(f"--{name}", type=_seconds, default=seconds, metavar="S", help=help_text)
    add_files(
        parser.add_argument_group("security; the files are read again when they change"),
        {
            "--tls-certificate": "certificate of the server, in PEM, with its chain",
            "--tls-key": "key of the certificate; without the two nothing is encrypted",
            "--tls-client-ca": "authority that must have signed the certificate of every client",
            "--token-file": "bearer tokens, one per line; every call but those of the health needs one; "
            "lines that begin with # are comments",
        },
    )
    engine = parser.add_argument_group("the engine of each version")
    engine.add_argument(
        "--runtime",
        choices=tuple(LIBRARIES),
        default="onnx",
        help="runtime that decodes: ONNX Runtime, or TensorFlow with the SavedModel, which is slower (onnx)",
    )
    engine.add_argument(
        "--precision",
        choices=("float32", "int8"),
        default="float32",
        help="precision of the graphs (float32)",
    )
    _add_counts(engine, ENGINE)
    engine.add_argument(
        "--trial-memory",
        type=at_least_one("--trial-memory must be at least 1", 2**20),
        default=0,
        metavar="N",
        help="memory of that process in MiB (half of that of the machine or container)",
    )
    limits = parser.add_argument_group("limits of a request; beyond them it gets INVALID_ARGUMENT")
    _add_counts(limits, LIMITS)
    log = parser.add_argument_group("log, on stderr, without any text of a request")
    log.add_argument(
        "--log-format",
        choices=("text", "json"),
        default="text",
        help="text, or json: one object per line (text)",
    )
    log.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        help="lowest level that is logged; info has a line for each request (warning; info with "
        "--log-format json)",
    )


def run(arguments: argparse.Namespace) -> None:
    """Serve until SIGTERM."""
    with failures(LibraryError, end="."):
        check_installed((*NEEDED, *LIBRARIES[arguments.runtime]), "serving", EXTRAS[arguments.runtime])
    refuse_if_another_is_near(arguments.directory, is_version, is_root)
    import asyncio

    from serving.address_space import check_address_space

    check_address_space()  # before loading the libraries, which crash if it is too small
    from serving.limits import Limits
    from serving.observability.logs import configure as configure_log
    from serving.observability.traces import TracesError
    from serving.registry.served_version import EngineSettings, ModelError
    from serving.run import Listening, serve

    configure_log(arguments.log_format, arguments.log_level)
    settings = _from_options(
        EngineSettings,
        arguments,
        prefill_tokens=arguments.prefill,
        trial_memory=arguments.trial_memory * 2**20,
    )
    for pool in ("INTRA", "INTER"):
        os.environ.setdefault(f"TF_NUM_{pool}OP_THREADS", str(arguments.threads))
    limits = _from_options(Limits, arguments)
    listening = _from_options(Listening, arguments, security=_security(arguments))
    note = report if arguments.log_format == "text" else logging.getLogger("serving").info
    with failures(ModelError, TracesError, end="."):
        served = serve(arguments.directory, settings, limits, listening, _print, note, arguments.watch)
        finished = asyncio.run(served)
    if not finished:
        raise CommandError(
            f"some requests were not finished within {arguments.grace:g} s, and were cut off: "
            "set a longer --grace."
        )


def _security(arguments: argparse.Namespace) -> "Security":
    from serving.security.listening import Security
    from serving.security.watched_file import UnusableError

    certificate, key, client_ca = arguments.tls_certificate, arguments.tls_key, arguments.tls_client_ca
    if (certificate is None) != (key is None):
        arguments.usage_error(f"--tls-certificate and --tls-key go together; got {certificate or key} alone")
    if client_ca is not None and certificate is None:
        arguments.usage_error(f"--tls-client-ca needs --tls-certificate and --tls-key; got {client_ca} alone")
    with failures(UnusableError, end="."):
        return Security.of(certificate, key, client_ca, arguments.token_file)


def _print(line: str) -> None:
    print(visible(line), flush=True)


def _from_options(kind: Any, arguments: argparse.Namespace, **others: Any) -> Any:
    """Create a dataclass from the options with the names of its fields, and from other values."""
    names = {field.name for field in fields(kind)} - others.keys()
    return kind(**{name: getattr(arguments, name) for name in names}, **others)


def _add_counts(group: argparse._ArgumentGroup, counts: Counts) -> None:
    for name, (default, maximum, meaning) in counts.items():
        group.add_argument(
            f"--{name}",
            type=at_least_one(f"--{name} must be at least 1", maximum),
            default=default,
            metavar="N",
            help=f"{meaning} ({default:,})",
        )


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) < 2**16):
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to 65535; got {text}")
    return int(text)


def _port_or_none(text: str) -> int | None:
    return None if text == "none" else _port(text)


def _names(text: str) -> frozenset[str]:
    names = frozenset(name.strip().lower() for name in text.split(","))
    wrong = [name for name in names if not re.fullmatch(r"[a-z0-9_.-]+", name)]
    if wrong:
        raise argparse.ArgumentTypeError(f"host names are needed, without a port; got {text}")
    return names


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e6:
        raise argparse.ArgumentTypeError(f"a number of seconds, at least 0, is needed; got {text}")
    return seconds
