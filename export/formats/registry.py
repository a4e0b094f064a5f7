"""Registry of the formats by name: a module for each, and a line here."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from export.artifact.layout import CARD, GOLDEN, TOKENIZER
from export.formats.ctranslate2_format import CTRANSLATE2_FORMAT
from export.formats.format import IdRuntime, RuntimeName, VersionFiles, WriteStep
from export.formats.onnx_format import ONNX_FORMAT
from export.formats.saved_model_format import SAVED_MODEL_FORMAT
from keras_transformer.libraries import check_installed

if TYPE_CHECKING:
    from export.export_request import ExportRequest
    from keras_transformer.text.tokenizer import Tokenizer

#: Lightest first: `translate` uses the first runtime of a version whose library is installed.
FORMATS = {format_.name: format_ for format_ in (ONNX_FORMAT, CTRANSLATE2_FORMAT, SAVED_MODEL_FORMAT)}
RUNTIMES = tuple(
    sorted(
        (runtime for format_ in FORMATS.values() for runtime in format_.runtimes),
        key=lambda runtime: not runtime.takes_ids,
    )
)


def format_of(file: str) -> str:
    """Return the format to which a file of a version belongs; "all" for what every format has."""
    first = file.partition("/")[0]
    if first in (TOKENIZER, GOLDEN, CARD):
        return "all"
    directories = {format_.directory: format_.name for format_ in FORMATS.values()}
    return directories.get(first, directories[""])


def write_steps(
    request: "ExportRequest", tokenizer: "Tokenizer", calibration: Sequence[str]
) -> Iterator[WriteStep]:
    """Return the steps of an export, tracing steps last, because TensorFlow keeps their memory."""
    steps = [
        step for name in request.formats for step in FORMATS[name].steps(request, tokenizer, calibration)
    ]
    yield from sorted(steps, key=lambda step: step.traces)


def open_runtime(name: RuntimeName, version: VersionFiles) -> IdRuntime:
    """Open a checked version directory in one of its runtimes.

    Raises:
        LibraryError: If the library of the runtime is not installed.
    """
    check_installed([name.library], str(name), "export")
    return FORMATS[name.format].open(name, version)
