"""A worker: it opens the model once, and translates and writes one shard after the other."""

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

from keras_transformer.bulk import BulkError
from keras_transformer.bulk.corpus_files import Input
from keras_transformer.bulk.formats import Answers, Format, Place, Translate, format_of
from keras_transformer.bulk.shards import Done, Failed, Shard, write_shard
from keras_transformer.memory import peak_memory
from keras_transformer.text.corpus import CorpusError

EXPECTED = (BulkError, CorpusError, OSError)  # their message is for the user; any other error is a defect


@dataclass(frozen=True)
class Task:
    """What every worker has to know.

    Attributes:
        open_model: Opens the model and returns what translates texts.
        column: The column that is translated, of files with columns.
        answers: What a translation consists of.
    """

    open_model: Callable[[], Translate]
    column: str | None = None
    answers: Answers = Answers.TEXT

    def format_of(self, source: Input) -> Format:
        """Return the format of a file."""
        return format_of(source.name, self.column, self.answers)


@dataclass
class Worker:
    """Translation of shards; the model is opened for the first one."""

    task: Task
    _translate: Translate | None = field(default=None, init=False)

    def __call__(self, shard: Shard) -> Done | Failed:
        """Translate a shard and write it. An error is returned: every engine hands it on in the same way."""
        try:
            began = time.monotonic()
            if self._translate is None:
                self._translate = self.task.open_model()
            form = self.task.format_of(Input.of(shard.source))
            content = form.translate(shard.rows, Place(shard.source, shard.first), self._translate)
            write_shard(shard, lambda path: form.write(content, path))
            return shard.done(time.monotonic() - began, peak_memory())
        except EXPECTED as error:
            return Failed(f"{error}")
        except Exception:
            return Failed(f"{shard} cannot be translated:\n{traceback.format_exc()}")
