"""The command line: `keras-transformer VERB`. A verb is a module here, loaded only when it is called.

A verb's module has `configure(parser)` and `run(arguments)`; its docstring, up to the first blank line, is
its description, and the rest its example. Results go to stdout, progress and errors to stderr. Exit status 0
is success, 1 failure, 2 wrong usage, 130 an interrupt.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, TextIO, cast

from keras_transformer import __version__
from keras_transformer.cli._interrupts import interruptible, print_no_lost_interrupt
from keras_transformer.inference.answer import DecodingError
from keras_transformer.text.visible import visible

VERBS = {
    "train": "a translation model from parallel text, or from the phrasebook",
    "translate": "text, line by line",
    "evaluate": "BLEU, chrF and TER of a model, or of two",
    "attention": "the heads of a model at work on a text, to look at",
    "export": "a model as one directory that serves everywhere",
    "verify": "every runtime of an exported version against the model",
    "serve": "exported models over gRPC and HTTP",
    "info": "what a model is: languages, network, scores, versions, files",
    "phrasebook": "sentence pairs of the embedded corpus",
    "walkthrough": "the worked examples of attention, step by step",
}


class CommandError(Exception):
    """Something a user can mend; the message says what and how. Ends the command with exit status 1."""


def command() -> NoReturn:
    """What the shell calls: the process ends with the verb, and the interpreter is not taken down before.

    Threads of TensorFlow and ONNX Runtime may still be at work, as after a Ctrl-C: coming back to an
    interpreter that goes, they would be unwound through C++, and the process would hang or end with a signal.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever called
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (to the end)
    sys.stderr = cast(TextIO, _Told(sys.stderr))
    print_no_lost_interrupt()
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


class _Told:
    """stderr, whose reader may go before the work is done: what is told then is lost, and no more."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(BrokenPipeError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(BrokenPipeError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb."""
    parser = argparse.ArgumentParser(
        prog="keras-transformer",
        usage="%(prog)s [-h] [--version] VERB ...",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Keras Transformer layers, and a translation model from them.",
        epilog="`keras-transformer VERB --help` explains a verb.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    listing = "\n".join(f"  {verb:<12} {does}" for verb, does in VERBS.items())
    group = parser.add_argument_group("verbs", listing)
    group.add_argument("verb", choices=VERBS, metavar="VERB", help=argparse.SUPPRESS)
    group.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    called = parser.parse_args(arguments)
    return _run(called.verb, called.arguments)


def _run(verb: str, arguments: Sequence[str]) -> int:
    try:
        with interruptible():
            _call(import_module(f"keras_transformer.cli.{verb}"), verb, arguments)
            sys.stdout.flush()
    except BrokenPipeError:
        # the reader has seen enough, as `head` has: nothing is left to say, not even at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (CommandError, DecodingError, OSError) as error:
        print(visible(f"keras-transformer {verb}: {error}"), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"keras-transformer {verb}: interrupted", file=sys.stderr)
        return 130
    return 0


def _call(module: ModuleType, verb: str, arguments: Sequence[str]) -> None:
    description, _, example = (module.__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog=f"keras-transformer {verb}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=description,
        epilog=example,
        allow_abbrev=False,  # an option added later would change what an abbreviation means
    )
    module.configure(parser)
    module.run(parser.parse_args(arguments))
