"""What the tests of corpora share: a job of small files, and a model that waits."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from keras_transformer.bulk.corpus_files import matching
from keras_transformer.bulk.corpus_job import Job
from keras_transformer.bulk.formats import Answers, Translate
from keras_transformer.bulk.worker import Task
from tests.support.bulk_models import Waiting, open_upper


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., Job]:
    """job(open_model, settings): the translation of the files in tmp_path/in into tmp_path/out."""

    def made(
        open_model: Callable[[], Translate] = open_upper,
        column: str | None = None,
        answers: Answers = Answers.TEXT,
        **settings: object,
    ) -> Job:
        output = tmp_path / "out"
        return Job(matching(f"{tmp_path}/in/*", output), output, Task(open_model, column, answers), settings)

    return made


@pytest.fixture
def waiting(tmp_path: Path) -> Waiting:
    os.mkfifo(tmp_path / "pipe")
    return Waiting(tmp_path / "pipe")
