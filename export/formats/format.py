"""What a format of a version directory is: its files, its libraries, and how they are written and opened."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from keras_transformer.inference.answer import Answer
from keras_transformer.text.lengths import ANSWER_LIMIT, AnswerLimit

if TYPE_CHECKING:
    from export.export_request import ExportRequest
    from keras_transformer.models.translation import TranslationModel
    from keras_transformer.text.tokenizer import Tokenizer


class RuntimeName(NamedTuple):
    """One way to run a version."""

    runtime: str
    precision: str
    format: str
    file: str  # what it opens, or one of these files
    library: str  # the package that it needs
    takes_ids: bool = True  # otherwise text only

    def __str__(self) -> str:
        return f"{self.runtime} {self.precision}"


class VersionFiles(NamedTuple):
    """What a runtime opens: a checked version directory, and how it is to decode."""

    directory: Path
    tokenizer: "Tokenizer"
    max_length: int  # tokens of a source, and of an answer
    limit: AnswerLimit = ANSWER_LIMIT
    cores: int = 1


class IdRuntime(Protocol):
    """A version opened in a runtime that takes token ids."""

    def translate_ids(self, rows: Sequence[Sequence[int]]) -> list[Answer]:
        """Return the answers to rows of source ids, each with its end id, in this order."""
        ...


class TextRuntime(Protocol):
    """A version opened in a runtime that contains its tokenizer."""

    def translate(self, texts: Sequence[str]) -> list[tuple[str, float]]:
        """Return the translations of texts with their scores, in this order."""
        ...


class WriteStep(NamedTuple):
    """One step of an export."""

    name: str
    write: Callable[["TranslationModel", Path], None]  # into a version directory
    traces: bool = False  # TensorFlow traces the model for it, and keeps the memory


@dataclass(frozen=True)
class Format:
    """A format that `export --format` can name.

    Args:
        name: as it is named there.
        directory: where its files lie in a version; "" for the version directory itself.
        files: what each precision must have written.
        libraries: the packages that writing it needs.
        runtimes: what can run it, the lightest first.
        steps: the steps that write it for a request, a tokenizer, and texts to calibrate int8 on.
        open: opens it in one of its runtimes.
    """

    name: str
    directory: str
    files: Mapping[str, tuple[str, ...]]
    libraries: tuple[str, ...]
    runtimes: tuple[RuntimeName, ...]
    steps: Callable[["ExportRequest", "Tokenizer", Sequence[str]], Iterable[WriteStep]]
    open: Callable[[RuntimeName, VersionFiles], IdRuntime]
