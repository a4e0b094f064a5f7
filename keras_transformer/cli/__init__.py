"""The command line: `keras-transformer VERB`. A verb is a module here, loaded only when it is called.

A verb's module has `configure(parser)` and `run(arguments)`; its docstring, up to the first blank line, is
its description, and the rest its example. Results go to stdout, progress and errors to stderr. Exit status 0
is success, 1 failure, 2 wrong usage, 130 an interrupt.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import Any, NoReturn, TextIO, cast

from keras_transformer import __version__
from keras_transformer.cli._interrupts import interruptible, print_no_lost_interrupt
from keras_transformer.inference.answer import DecodingError
from keras_transformer.text.visible import visible

PROGRAM = "keras-transformer"
VERBS = {
    "train": "train a translation model from parallel text, or from the phrasebook",
    "import": "make a run of a MarianMT (OPUS-MT) directory",
    "translate": "translate text, line by line",
    "evaluate": "score a model, or two, with BLEU, chrF and TER",
    "attention": "draw the attention of a model on a text",
    "export": "write a model as one directory that serves everywhere",
    "verify": "compare every runtime of an exported version with the model",
    "serve": "serve exported models over gRPC and HTTP",
    "info": "show languages, network, scores, versions and files of a model",
    "phrasebook": "print sentence pairs of the embedded corpus",
    "walkthrough": "work through the examples of attention, step by step",
    "completion": "print the script that completes commands in a shell",
}

# verbs whose results go to stdout, and the option that names another place for them
PRINTED = {
    **dict.fromkeys(("translate", "evaluate", "info", "verify", "completion"), ""),
    "phrasebook": "source",
    "walkthrough": "output",
}


class CommandError(Exception):
    """A failure that the user can correct; the message says how. The command ends with exit status 1."""


@contextmanager
def failures(*kinds: type[Exception], end: str = "") -> Iterator[None]:
    """Raise CommandError for an error of these kinds inside, with its message and this end."""
    try:
        yield
    except kinds as error:
        raise CommandError(f"{error}{end}") from error


def report(line: str) -> None:
    """Print a line of progress to stderr."""
    print(visible(line), file=sys.stderr, flush=True)


class _VerbList(argparse.HelpFormatter):
    """The layout of the list of verbs: argparse measures their names without the indent of the list."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        self._action_max_length += self._indent_increment


def _path(text: str) -> Path:
    """Parse a path; an empty one would be the current directory."""
    if not text:
        raise argparse.ArgumentTypeError("a path is needed; got an empty text")
    return Path(text)


class VerbParser(argparse.ArgumentParser):
    """The parser of one verb. The module of the verb is imported, and asked for its options, when needed."""

    def __init__(self, verb: str, **settings: Any) -> None:
        # without abbreviations: an option added later would change what one means
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **settings)
        self.register("type", Path, _path)
        self._verb = verb

    def load(self) -> None:
        """Import the module of the verb and add its options, once."""
        if self.description is None:
            name = f"{self._verb}_" if iskeyword(self._verb) else self._verb
            module = import_module(f"keras_transformer.cli.{name}")
            self.description, _, self.epilog = (module.__doc__ or "").partition("\n\n")
            self.set_defaults(command=module.run, usage_error=self.error)
            module.configure(self)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the words after the verb. Unknown ones end the program with the usage of the verb."""
        self.load()
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, unknown


def program() -> tuple[argparse.ArgumentParser, list[VerbParser]]:
    """Return the parser of the program, and that of each verb."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        formatter_class=_VerbList,
        description="Keras Transformer layers, and a translation model from them.",
        epilog=f"`{PROGRAM} VERB --help` explains a verb.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    verbs = parser.add_subparsers(
        title="verbs", dest="verb", metavar="VERB", required=True, parser_class=VerbParser
    )
    return parser, [verbs.add_parser(verb, verb=verb, help=purpose) for verb, purpose in VERBS.items()]


def command() -> NoReturn:
    """Run the command line as the shell calls it, and end the process without taking the interpreter down.

    Threads of TensorFlow and ONNX Runtime may still be at work, as after a Ctrl-C. If they returned to an
    interpreter that is being finalised, they would be unwound through C++, and the process would hang or end
    with a signal.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the caller has closed it
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (to the end)
    sys.stderr = cast(TextIO, _LossyStream(sys.stderr))
    print_no_lost_interrupt()
    status = main()
    with suppress(OSError):  # main has tried, and reported it
        sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


class _LossyStream:
    """A stream whose reader may leave, or whose disk may be full, before the work is done.

    What is written then is dropped.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb, and return the exit status.

    Args:
        arguments: The words after the name of the program; by default those of the process.

    Raises:
        SystemExit: Wrong usage (status 2), or a help text was asked for (status 0).
    """
    called = argparse.Namespace(verb="")
    try:
        with interruptible():
            parser, _ = program()
            try:
                parser.parse_args(arguments, called)
            except SystemExit:
                sys.stdout.flush()  # a help text
                raise
            is_printed = called.verb in PRINTED and not getattr(called, PRINTED[called.verb], None)
            if is_printed and getattr(sys.stdout, "name", "") == os.devnull:
                raise CommandError("standard output is closed, and the results go there: redirect it.")
            called.command(called)
            sys.stdout.flush()
    except BrokenPipeError:
        # the reader has seen enough, as `head` has: nothing more is written, not even at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (CommandError, DecodingError, OSError) as error:
        print(visible(f"{f'{PROGRAM} {called.verb}'.rstrip()}: {error}"), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{f'{PROGRAM} {called.verb}'.rstrip()}: interrupted", file=sys.stderr)
        return 130
    return 0
