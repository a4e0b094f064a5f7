"""Several workers of `train`: their options, what they must agree on, and the engine that starts them."""

import argparse
import json
import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_transformer.cli import at_least_one, failures, main

if TYPE_CHECKING:
    from keras_transformer.training.cluster.workers import Workers
    from keras_transformer.training.runs.run_directory import Run

Given = Mapping[str, Sequence[str]]  # the options that decide what is trained, with their values
SHARED_SECONDS = 60.0  # from the preparation of a run until all workers see it


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of several workers."""
    group = parser.add_argument_group(
        "several workers", "without these options TF_CONFIG says them, if it is set, as launchers do"
    )
    group.add_argument(
        "--cluster", metavar="HOST:PORT,...", help="train together with workers at these addresses"
    )
    group.add_argument(
        "--rank", type=int, metavar="N", help="index of this worker in --cluster; 0 writes the run"
    )
    group.add_argument(
        "--join-timeout",
        type=at_least_one("workers wait at least 1 second for each other", 86_400),
        default=300,
        metavar="SECONDS",
        help="how long the workers wait for each other at the start (300)",
    )
    group.add_argument(
        "--engine", choices=["ray"], help="start the workers with Ray Train, and again when one fails"
    )
    group.add_argument(
        "--workers",
        type=at_least_one("an engine starts at least 1 worker", 10_000),
        metavar="N",
        help="number of workers that the engine starts",
    )
    group.add_argument(
        "--max-failures",
        type=at_least_one("the workers may fail at least 1 time", 1_000_000),
        default=3,
        metavar="N",
        help="how often the engine begins again (3)",
    )


def workers_of(arguments: argparse.Namespace) -> "Workers":
    """Return the workers that train together, of which this process is one."""
    from keras_transformer.training.cluster import worker_addresses

    if (arguments.engine is None) != (arguments.workers is None):
        arguments.usage_error("--engine and --workers go together: what starts the workers, and how many")
    if arguments.engine is not None and (arguments.cluster is not None or arguments.rank is not None):
        arguments.usage_error(f"--engine {arguments.engine} finds the addresses: leave out --cluster, --rank")
    try:
        return worker_addresses.workers_of(arguments.cluster, arguments.rank, os.environ)
    except ValueError as error:
        arguments.usage_error(str(error))
        raise


def facts(given: Given) -> dict[str, str]:
    """Return what has to be the same on all workers before the run is prepared."""
    from keras_transformer.files import digest
    from keras_transformer.libraries import versions_of
    from keras_transformer.training.runs.run_directory import MADE_WITH

    source = digest(Path(__file__).parents[2], "*.py")
    options = {name: " ".join(values) for name, values in given.items()}
    return {**versions_of(MADE_WITH), "source code of keras_transformer": source, **options}


def await_run(directory: "Run", workers: "Workers") -> None:
    """Wait until this worker sees the run that worker 0 has prepared: a shared disk may show it later."""
    from keras_transformer.training.cluster.workers import ClusterError

    deadline = time.monotonic() + SHARED_SECONDS
    while not directory.is_prepared:
        if time.monotonic() > deadline:
            raise ClusterError(
                f"{workers.name(0)} has prepared the run, and {workers.name(workers.rank)} has not seen it "
                f"after {SHARED_SECONDS:g} s: put {directory.path} on a disk that all workers share."
            )
        time.sleep(0.1)


def check_before_launch(
    directory: "Run", about: dict[str, Any] | None, arguments: argparse.Namespace
) -> None:
    """Refuse here what the workers would fail with, again at each attempt."""
    from keras_transformer.training.data.corpus_options import Corpus
    from keras_transformer.training.runs.run_directory import RunError
    from keras_transformer.training.runs.run_recipe import check_continuable

    with failures(RunError):
        if about is None:
            check_continuable(directory, arguments.steps, arguments.workers)
            if directory.is_prepared:
                return
        else:
            directory.check_unprepared()
    corpus = Corpus.from_run(about or directory.about())
    if corpus.is_piped:
        arguments.usage_error("the workers cannot read standard input: begin a run with a file")
    corpus.check_files()


def launch(
    directory: "Run", about: dict[str, Any] | None, given: Given, arguments: argparse.Namespace
) -> None:
    """Let Ray start this command on each worker, and again when one of them fails."""
    from keras_transformer.libraries import LibraryError, check_installed
    from keras_transformer.training.cluster import ray_launcher

    with failures(LibraryError):
        check_installed(["ray"], "--engine ray", "scale")
    run = ["--run", str(directory.path)]
    options = [word for name, values in given.items() for word in (name, *values)]
    resumed = [
        "--resume",
        *(["--steps", str(arguments.steps)] if arguments.resume and arguments.steps else []),
    ]
    with failures(ray_launcher.LaunchError):
        ray_launcher.launch(
            ray_launcher.Launch(
                _train_on_worker,
                directory.path,
                [*run, *options],
                [*run, *resumed],
                partial(_has_begun, directory.path, about or {}),
                arguments.workers,
                arguments.max_failures,
            )
        )


def _has_begun(run: Path, about: dict[str, Any]) -> bool:
    """Return whether the run directory holds the run that is meant, and not an earlier one."""
    from keras_transformer.training.runs.run_directory import Run, RunError

    try:
        written = Run(run).about()
    except RunError:
        return False
    return all(written.get(name) == value for name, value in json.loads(json.dumps(about)).items())


def _train_on_worker(words: Sequence[str]) -> int:
    return main(["train", *words])
