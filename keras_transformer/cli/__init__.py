"""The command line `keras-transformer VERB`. A verb is a module here, imported only when it is called.

A verb's module has `configure(parser)` and `run(arguments)`; the first paragraph of its docstring is the
verb's description, and the rest its examples. Results go to stdout, progress and errors to stderr. The exit
status is 0 for success, 1 for a failure, 2 for wrong usage, 130 for an interrupt.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import Any, NoReturn, TextIO, cast

from keras_transformer import __version__
from keras_transformer.inference.answer import DecodingError
from keras_transformer.interrupts import interruptible, print_no_lost_interrupt
from keras_transformer.text.visible import visible

PROGRAM = "keras-transformer"
VERBS = {
    "train": "train a translation model from parallel text, or from the phrasebook",
    "distill": "train a small student on the translations of its teachers",
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

# verbs whose results go to stdout, and the option that sends them to a file instead
PRINTED = {
    **dict.fromkeys(("evaluate", "info", "verify", "completion"), ""),
    "translate": "output",
    "phrasebook": "source",
    "walkthrough": "output",
}


class CommandError(Exception):
    """Failure that the user can correct; the message says how. The command ends with exit status 1."""


@contextmanager
def failures(*kinds: type[Exception], end: str = "") -> Iterator[None]:
    """Convert errors of these kinds inside the context to a CommandError whose message ends with `end`."""
    try:
        yield
    except kinds as error:
        raise CommandError(str(error).removesuffix(end) + end) from error


def report(line: str) -> None:
    """Print a line of progress to stderr."""
    print(visible(line), file=sys.stderr, flush=True)


def add_files(group: Any, options: Mapping[str, str], metavar: str = "F", **settings: Any) -> None:
    """Add options that name a file.

    Args:
        group: The parser, or a group of it.
        options: What each of them means.
        metavar: What stands for the file in the help.
        **settings: Other settings that all of them have, as `nargs`.
    """
    for option, meaning in options.items():
        group.add_argument(option, type=Path, metavar=metavar, help=meaning, **settings)


def at_least_one(rule: str, maximum: int) -> Callable[[str], int]:
    """Return the type of an option that counts from 1 to `maximum`; its error text begins with the rule."""

    def number(text: str) -> int:
        if not text.isdecimal() or len(text) > len(str(maximum)) or not 1 <= int(text) <= maximum:
            raise argparse.ArgumentTypeError(f"{rule}, and at most {maximum:,}; got {text}")
        return int(text)

    return number


class _VerbList(argparse.HelpFormatter):
    """Help formatter that aligns the list of verbs: argparse ignores the list's indent in the widths."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        self._action_max_length += self._indent_increment


def _path(text: str) -> Path:
    """Parse a path, and refuse an empty one, which would mean the current directory."""
    if not text:
        raise argparse.ArgumentTypeError("a path is needed; got an empty text")
    return Path(text)


class VerbParser(argparse.ArgumentParser):
    """Parser of one verb, which imports the verb's module and adds its options at the first use."""

    def __init__(self, verb: str, **settings: Any) -> None:
        # without abbreviations: an option added later would change what one means
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **settings)
        self.register("type", Path, _path)
        self._verb = verb

    def load(self) -> None:
        """Import the module of the verb and add its options, unless that was done."""
        if self.description is None:
            name = f"{self._verb}_" if iskeyword(self._verb) else self._verb
            module = import_module(f"keras_transformer.cli.{name}")
            self.description, _, self.epilog = (module.__doc__ or "").partition("\n\n")
            self.set_defaults(command=module.run, usage_error=self.error)
            module.configure(self)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the words after the verb. Unknown words end the program with the usage of the verb."""
        self.load()
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, unknown


def program() -> tuple[argparse.ArgumentParser, list[VerbParser]]:
    """Return the parser of the program and the parser of each verb."""
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
    """Run the command line of the process, and end the process without finalizing the interpreter.

    Threads of TensorFlow and ONNX Runtime may still run, as after a Ctrl-C. If they returned to an
    interpreter that is being finalized, they would be unwound through C++, and the process would hang or end
    with a signal.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the caller has closed it
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (never closed)
    sys.stderr = cast(TextIO, _LossyStream(sys.stderr))
    print_no_lost_interrupt()
    status = main()
    with suppress(OSError):  # main has tried, and reported it
        sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


class _LossyStream:
    """Stream that drops what is written when its reader has closed it, or the disk is full."""

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
        SystemExit: For wrong usage (status 2), and after a help text (status 0).
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
        # the reader has closed the pipe, as `head` does: write nothing more, not even at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (CommandError, DecodingError, OSError) as error:
        print(visible(f"{f'{PROGRAM} {called.verb}'.rstrip()}: {error}"), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{f'{PROGRAM} {called.verb}'.rstrip()}: interrupted", file=sys.stderr)
        return 130
    return 0
