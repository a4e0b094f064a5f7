"""The format `ctranslate2`: the same weights for that engine."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from export.artifact.layout import CTRANSLATE2
from export.formats.format import Format, IdRuntime, RuntimeName, WriteStep
from keras_transformer.text.lengths import AnswerLimit

if TYPE_CHECKING:
    from export.export_request import ExportRequest
    from keras_transformer.models.translation import TranslationModel
    from keras_transformer.text.tokenizer import Tokenizer


def _steps(
    request: "ExportRequest", tokenizer: "Tokenizer", calibration: Sequence[str]
) -> Iterator[WriteStep]:
    yield WriteStep("ctranslate2", _write)


def _write(model: "TranslationModel", directory: Path) -> None:
    from export.formats.writers.ctranslate2 import write_ctranslate2  # noqa: PLC0415

    write_ctranslate2(model, directory / CTRANSLATE2)


def _open(
    name: RuntimeName,
    directory: Path,
    tokenizer: "Tokenizer",
    max_length: int,
    cores: int,
    limit: AnswerLimit,
) -> IdRuntime:
    from export.formats.runtimes.ctranslate2_runtime import CTranslate2Runtime  # noqa: PLC0415

    return CTranslate2Runtime(directory / CTRANSLATE2, tokenizer, max_length, cores, limit)


CTRANSLATE2_FORMAT = Format(
    name="ctranslate2",
    directory=CTRANSLATE2,
    files={"float32": ("ctranslate2/model.bin", "ctranslate2/config.json")},
    libraries=("ctranslate2",),
    runtimes=(RuntimeName("ctranslate2", "float32", "ctranslate2", "ctranslate2/model.bin", "ctranslate2"),),
    steps=_steps,
    open=_open,
)
