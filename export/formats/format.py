"""Description of a format: its files, its libraries, and the functions that write and open it."""

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
    """Runtime and precision in which a version can run.

    Attributes:
        runtime: Name of the runtime.
        precision: "float32" or "int8".
        format: Name of the format.
        file: The file that it opens, or one of these files.
        library: Package that it needs.
        takes_ids: Whether it takes token ids; otherwise text only.
        beams: Whether it can search with a beam.
    """

    runtime: str
    precision: str
    format: str
    file: str
    library: str
    takes_ids: bool = True
    beams: bool = False

    def __str__(self) -> str:
        return f"{self.runtime} {self.precision}"


class VersionFiles(NamedTuple):
    """Checked version directory, and how a runtime decodes with it.

    Attributes:
        directory: The directory.
        tokenizer: Tokenizer of the version.
        max_length: Largest number of tokens of a source and of an answer.
        limit: Largest number of tokens of the answer to a source; max_length applies as well.
        cores: Number of threads.
        scores: Whether the answers need scores, if the runtime is faster without.
    """

    directory: Path
    tokenizer: "Tokenizer"
    max_length: int
    limit: AnswerLimit = ANSWER_LIMIT
    cores: int = 1
    scores: bool = True


class IdRuntime(Protocol):
    """Opened version in a runtime that takes token ids."""

    def translate_ids(self, rows: Sequence[Sequence[int]]) -> list[Answer]:
        """Return the answers to rows of source ids, each with its end id, in their order."""
        ...


class TextRuntime(Protocol):
    """Opened version in a runtime that contains the tokenizer."""

    def translate(self, texts: Sequence[str]) -> list[tuple[str, float]]:
        """Return the translations of texts with their scores, in their order."""
        ...


class WriteStep(NamedTuple):
    """Step of an export.

    Attributes:
        name: Name for the progress.
        write: Function that writes into a version directory.
        traces: Whether TensorFlow traces the model in this step, and keeps the memory.
    """

    name: str
    write: Callable[["TranslationModel", Path], None]
    traces: bool = False


@dataclass(frozen=True)
class Format:
    """Format that `export --format` can name.

    Args:
        name: Its name.
        directory: Directory of its files in a version; "" for the version directory itself.
        files: The files of each precision.
        libraries: Packages that are needed to write it.
        runtimes: Runtimes that can run it, the lightest first.
        steps: Returns the steps that write it for a request, a tokenizer, and texts for the int8 calibration.
        open: Opens a runtime for (name, version directory, tokenizer, longest answer, cores, length limit).
    """

    name: str
    directory: str
    files: Mapping[str, tuple[str, ...]]
    libraries: tuple[str, ...]
    runtimes: tuple[RuntimeName, ...]
    steps: Callable[["ExportRequest", "Tokenizer", Sequence[str]], Iterable[WriteStep]]
    open: Callable[[RuntimeName, VersionFiles], IdRuntime]
