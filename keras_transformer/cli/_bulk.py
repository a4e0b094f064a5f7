"""`translate --engine`: a corpus of many files, translated by several workers into a directory."""

import argparse
import contextlib
import hashlib
import io
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from keras_transformer.bulk import BulkError
from keras_transformer.bulk.corpus_files import matching
from keras_transformer.bulk.corpus_job import Job
from keras_transformer.bulk.engines import ENGINES, check_libraries, translate_corpus
from keras_transformer.bulk.formats import Answers, Translate
from keras_transformer.bulk.worker import Task
from keras_transformer.cli import CommandError, at_least_one, failures, report
from keras_transformer.cli._models import (
    DEFAULT_SEARCH,
    check_ensemble,
    is_model_file,
    is_run,
    is_version,
    model_file,
    refuse_if_another_is_near,
)
from keras_transformer.cli._opened import open_exported, opened, refuse_what_only_a_run_can
from keras_transformer.cli._remote import Address, refuse_server_options
from keras_transformer.cores import usable_cores
from keras_transformer.files import check_writable
from keras_transformer.inference.answer import DecodingError
from keras_transformer.libraries import LibraryError
from keras_transformer.text.corpus import STANDARD_INPUT, CorpusError

MAX_WORKERS = 4096
DEPENDENT = ("output", "workers", "column")
SEARCH: dict[str, Any] = {  # options that decide a translation, and their defaults
    **DEFAULT_SEARCH,
    "others": [],  # of an ensemble
    "max_tokens": None,
    "target_language": None,
    "scores": False,
    "json": False,
}


def configure_bulk(parser: argparse.ArgumentParser) -> None:
    """Add the options of a corpus."""
    group = parser.add_argument_group("a corpus of many files, which several workers translate")
    group.add_argument(
        "--engine",
        choices=ENGINES,
        help="translate all files that match --input, with processes on this machine or with Ray",
    )
    group.add_argument(
        "--output", type=Path, metavar="DIR", help="with --engine, the directory of the translations"
    )
    group.add_argument(
        "--workers",
        type=at_least_one("a corpus needs at least 1 worker", MAX_WORKERS),
        metavar="N",
        help="with --engine, number of workers, each on a core of its own (all cores of this machine)",
    )
    group.add_argument(
        "--column", metavar="NAME", help="with --engine, the column to translate of JSONL and Parquet files"
    )


def refuse_bulk_options(arguments: argparse.Namespace) -> None:
    """End the program with its usage if there are options of a corpus without --engine."""
    for option in DEPENDENT:
        if getattr(arguments, option) is not None:
            arguments.usage_error(f"--{option} is for a corpus: give --engine {' or '.join(ENGINES)} as well")


def translate_files(arguments: argparse.Namespace) -> None:
    """Check everything that is quick to check, then translate the corpus."""
    if isinstance(arguments.model, Address):
        arguments.usage_error(
            "--engine opens the model in every worker: name an exported version or a run instead of a server"
        )
    refuse_server_options(arguments)
    if arguments.input == STANDARD_INPUT or arguments.output is None:
        arguments.usage_error("--engine translates files into a directory: give --input and --output")
    with failures(BulkError), failures(CorpusError, LibraryError, end="."):
        inputs = matching(str(arguments.input), arguments.output)
        job = Job(inputs, arguments.output, task_of(arguments), settings_of(arguments))
        run_job(job, arguments.engine, arguments.workers)


def run_job(job: Job, engine: str, workers: int | None) -> None:
    """Translate the files of a job that are not finished, and report what was done.

    Raises:
        BulkError: The output belongs to another job, or a shard cannot be translated.
        CorpusError: A file cannot be read.
        LibraryError: A library that the engine needs is not installed.
    """
    check_libraries(job, engine)
    check_writable(job.output / "file")
    workers = workers or usable_cores()
    report(f"Translating {_counted(len(job.inputs), 'file')} with {_counted(workers, 'worker')} ...")
    done = translate_corpus(job, engine, workers, lambda path: report(f"wrote {path}"))
    earlier = f"{done.earlier:,} lines were there; " if done.earlier else ""
    memory = f"; a worker took up to {done.memory / 2**20:,.0f} MiB" if done.memory else ""
    nothing = f"{job.output} is complete: nothing was left to translate"
    report(f"{earlier}{done.rate()}{memory}" if done.lines else nothing)


def task_of(arguments: argparse.Namespace) -> Task:
    """Return what every worker has to know."""
    search = argparse.Namespace(
        **{name: getattr(arguments, name) for name in SEARCH}
        | {"model": arguments.model.absolute(), "others": [path.absolute() for path in arguments.others]}
    )
    answers = Answers.SCORED if arguments.scores else Answers.JSON if arguments.json else Answers.TEXT
    return Task(partial(open_in_worker, search), arguments.column, answers)


def settings_of(arguments: argparse.Namespace) -> dict[str, object]:
    """Return what decides the translations, after a look at the model that loads no library."""
    from export.artifact.layout import MANIFEST
    from export.artifact.manifest import looks_exported

    path: Path = arguments.model
    refuse_if_another_is_near(path, is_run, is_model_file, is_version)
    if looks_exported(path):
        refuse_what_only_a_run_can(arguments, "an exported version", "it")
        open_exported(path)
        files = [path / MANIFEST]
    else:
        check_ensemble([path, *arguments.others])
        files = [model_file(model) for model in (path, *arguments.others)]
    search = {name.replace("_", " "): getattr(arguments, name) for name in SEARCH if name != "others"}
    return {"model": "+".join(hashlib.sha256(file.read_bytes()).hexdigest() for file in files), **search}


def open_in_worker(search: argparse.Namespace) -> Translate:
    """Open the model in a worker, and return the function that translates lines.

    Raises:
        BulkError: It cannot be opened.
    """
    from keras_transformer.cli.translate import translated

    with _failures_in_a_worker(), contextlib.redirect_stderr(io.StringIO()):
        model = opened(search)

    def translate(lines: list[str]) -> list[str]:
        with _failures_in_a_worker():
            parts = [model.divide(line if line.strip() else "") for line in lines]
            return [line.text for line, _ in translated(parts, model.translate, model.form)]

    return translate


@contextlib.contextmanager
def _failures_in_a_worker() -> Iterator[None]:
    """Convert errors that the user can correct, which the engines hand on."""
    try:
        yield
    except (CommandError, DecodingError) as error:
        raise BulkError(str(error)) from error


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
