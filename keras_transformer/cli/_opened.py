"""The local MODEL of `translate`: a run with all searches, or an exported version with greedy decoding."""

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from keras_transformer.cli import CommandError, failures
from keras_transformer.cli._answers import Form, Translate, answers, scored_line
from keras_transformer.cli._models import (
    is_model_file,
    is_run,
    is_version,
    load_ensemble,
    refuse_if_another_is_near,
    search_options,
)
from keras_transformer.cli._target_language import target_language_failures
from keras_transformer.inference.answer import Translation
from keras_transformer.interrupts import interruptible
from keras_transformer.text.division import divided_for
from keras_transformer.text.sentences import Lengths, Parts

if TYPE_CHECKING:
    from export.artifact.manifest import Version
    from export.formats.format import RuntimeName
    from export.translator import Translated, Translator
    from keras_transformer.text.tokenizer import Tokenizer

ONLY_A_RUN = {"max_tokens": None, "json": False}


class Opened(NamedTuple):
    """Opened MODEL that is ready to translate.

    Attributes:
        languages: Languages as printed on stderr.
        divide: Function that divides a line into the parts that are translated.
        longest: Largest number of tokens of a part.
        translate: Function that translates parts.
        form: Function that formats a translated line.
        runtime: Runtime as printed on stderr.
        example: Short text for a first call, which creates what later calls reuse.
    """

    languages: str
    divide: Callable[[str], Parts]
    longest: int
    translate: Translate
    form: Form
    runtime: str = ""
    example: str = "."

    @classmethod
    def of(
        cls,
        tokenizer: "Tokenizer",
        lengths: Lengths,
        translate: Translate,
        form: Form,
        target_language: str | None = None,
        runtime: str = "",
    ) -> Self:
        """Create one that divides lines into sentences by these lengths."""
        target = target_language or tokenizer.target_lang
        languages = f" {tokenizer.source_lang} to {target}" if tokenizer.source_lang else ""
        if tokenizer.all_languages or target_language is not None:
            divide = partial(_divided, tokenizer, lengths, target_language)
        else:
            divide = partial(Parts.of, count=tokenizer.count_source, lengths=lengths)
        example = tokenizer.with_language(".", next(iter(tokenizer.target_languages), None))
        return cls(languages, divide, lengths.longest, translate, form, runtime, example)


def _divided(tokenizer: "Tokenizer", lengths: Lengths, target_language: str | None, line: str) -> Parts:
    """Divide a line.

    Raises:
        CommandError: If the model needs a target language, or has no such one.
    """
    with target_language_failures(tokenizer):
        return divided_for(tokenizer, line, lengths, target_language)


def opened(arguments: argparse.Namespace) -> Opened:
    """Open the MODEL of `translate`: a run, a .keras file or an exported version."""
    from export.artifact.manifest import looks_exported

    refuse_if_another_is_near(arguments.model, is_run, is_model_file, is_version)
    return _exported(arguments) if looks_exported(arguments.model) else _trained(arguments)


def open_exported(path: Path) -> "Version":
    """Open a version, and check its files.

    Raises:
        CommandError: If it cannot be opened, or a file was changed.
    """
    from export.artifact.manifest import VersionError, open_version

    with failures(VersionError):
        return open_version(path)


def _trained(arguments: argparse.Namespace) -> Opened:
    """Open a run directory or a .keras file, or the ensemble of several."""
    model = load_ensemble([arguments.model, *arguments.others])
    if model.tokenizer is None:
        raise CommandError(f"{arguments.model} has no tokenizer: it translates ids, not text.")
    return Opened.of(model.tokenizer, model.lengths, *answers(model, arguments), arguments.target_language)


def _exported(arguments: argparse.Namespace) -> Opened:
    """Open a version directory, and load only the runtime that translates."""
    refuse_what_only_a_run_can(arguments, "an exported version", "it")
    version = open_exported(arguments.model)
    translator, name = open_translator(version, arguments, arguments.scores)
    lengths = Lengths(**asdict(version.manifest.lengths))
    form = partial(_scored, arguments.length_penalty) if arguments.scores else _text
    language = arguments.target_language
    return Opened.of(version.tokenizer, lengths, translator.translate, form, language, f" with {name}")


def open_translator(
    version: "Version", arguments: argparse.Namespace, scores: bool = False
) -> "tuple[Translator, RuntimeName]":
    """Open the lightest runtime of a version, and return it with its name; `scores`: it computes scores.

    Raises:
        CommandError: Its library is not installed, or it cannot search the beam.
    """
    from export.translator import BeamError, Translator, lightest
    from keras_transformer.cli._loading import native_logs_held_back
    from keras_transformer.libraries import LibraryError

    name = lightest(version, arguments.beam)
    if name.format == "saved_model":
        print("Loading TensorFlow ...", file=sys.stderr, flush=True)
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with (
        failures(BeamError),
        failures(LibraryError, end="."),
        interruptible(),
        native_logs_held_back(),
    ):
        return Translator(version, name, **search_options(arguments), scores=scores), name


def refuse_what_only_a_run_can(arguments: argparse.Namespace, kind: str, it: str) -> None:
    """End the program with the usage for options, and models of an ensemble, that only a run can have.

    Args:
        arguments: Arguments of the command.
        kind: The kind of MODEL, for the error text.
        it: The thing that was exported, for the error text.
    """
    given = [
        f"--{name.replace('_', '-')}"
        for name, default in ONLY_A_RUN.items()
        if getattr(arguments, name) != default
    ]
    given += map(str, arguments.others)
    if given:
        arguments.usage_error(
            f"{arguments.model} is {kind}: leave out {', '.join(given)}, or name the run that {it} was "
            "exported from."
        )


def _text(line: Parts, results: "list[Translated]") -> Translation:
    """Return the translation of a line."""
    return Translation.joined(line, ((result.text, result.looped) for result in results))


def _scored(penalty: float, line: Parts, results: "list[Translated]") -> Translation:
    """Return the score of a line, as if its parts were one answer, and its translation."""
    tokens = sum(result.tokens for result in results)
    total = sum(result.score * result.tokens for result in results)
    return scored_line(total / tokens**penalty if tokens else None, _text(line, results))
