"""The engines, and the loop around them: shards are translated and counted, and finished files are joined."""

from collections.abc import Callable
from contextlib import closing
from itertools import chain
from pathlib import Path

from keras_transformer.bulk import BulkError, processes, ray_data
from keras_transformer.bulk.corpus_job import Job
from keras_transformer.bulk.formats import Parquet
from keras_transformer.bulk.progress import Progress
from keras_transformer.bulk.shards import Failed
from keras_transformer.libraries import check_installed

PROCESSES, RAY = ENGINES = ("processes", "ray")
EXTRA = "scale"


def check_libraries(job: Job, engine: str) -> None:
    """Check the libraries that the engine and the formats of the files need.

    Raises:
        LibraryError: One is not installed.
    """
    if engine == RAY:
        check_installed(["ray", "pyarrow"], "--engine ray", EXTRA, "; --engine processes needs no library")
    if any(isinstance(job.task.format_of(source), Parquet) for source in job.inputs):
        check_installed(["pyarrow"], "Parquet", EXTRA)


def translate_corpus(job: Job, engine: str, workers: int, notify: Callable[[Path], None]) -> Progress:
    """Translate all files that are not finished.

    Args:
        job: The job.
        engine: One of ENGINES.
        workers: Number of workers, each of which uses one core.
        notify: Called with each file that is finished.

    Returns:
        What was done.

    Raises:
        BulkError: The output belongs to another job, or a shard cannot be translated.
        CorpusError: A file cannot be read.
    """
    with job.begun(), Progress(unfinished := job.unfinished()) as progress:
        if engine == RAY:
            results = ray_data.translated(job, workers)
        else:
            results = processes.translated(job.task, chain.from_iterable(map(job.cut, unfinished)), workers)
        with closing(results):
            for result in results if unfinished else ():
                if isinstance(result, Failed):
                    raise BulkError(result.message)
                progress.add(result)
                if path := job.add(result):
                    notify(path)
    return progress
